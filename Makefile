# The short way to everything. `make` alone lists what there is.

PYTHON ?= python3
BIN := .venv/bin
OF_THE_SERVER := $(addprefix tests/acceptance/test_,server_killed.py server_storms.py \
	server_push.py server_console.py server_rest.py cli_endpoint.py)
NEED_JAVA := $(addprefix tests/,acceptance delta spark_lane)
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
# The tests start hundreds of processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test trial lane-test server-trial storage-trial model-trial history-trial proof soak mutation-check mutants transcripts spark-pairs-test connect-test cluster-test object-storage-test object-storage-spark-test client-test client-soak console-test unit oldest-test check format bench bench-full pictures docs lock java clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/ready java ## publish a year of real flights and drain it twice (2 minutes)
	@$(BIN)/python -m pubsub_delta.jobs.demo

test: .venv/ready java ## run the tests: those of Spark beside the others (needs Java; 18 minutes on a slow machine)
	$(BIN)/pytest --numprocesses 2 --dist loadscope

trial: .venv/ready java ## run the long trials: killed processes, jobs, notebooks, docs, random sequences
	SEEDS=$${SEEDS:-3} $(BIN)/pytest --numprocesses 2 --dist loadscope -m trial \
		tests/acceptance tests/delta tests/unit \
		tests/histories/test_histories.py \
		$(addprefix --ignore ,$(OF_THE_SERVER))

lane-test: .venv/ready java ## run the Delta tests by the Spark lane, too (half an hour or more)
	$(BIN)/pytest -m spark_lane --timeout 600 tests/delta tests/lanes

server-trial: .venv/ready ## run a server: its pushes, its console, REST, commands by --endpoint, and kills; needs no Java
	$(BIN)/pytest -m trial $(OF_THE_SERVER)

storage-trial: .venv/ready java ## kill processes at named points, crowd a store, damage its files, fill its disk
	TRIALS=$${TRIALS:-200} $(BIN)/pytest -m trial tests/trials

model-trial: .venv/ready java ## hold the library against a model of the whole specification, and search its protocol to the end
	STEPS=$${STEPS:-100000} DELTA_STEPS=$${DELTA_STEPS:-500} $(BIN)/pytest -m trial tests/model tests/protocol

history-trial: .venv/ready java ## kill, stop and starve several processes on one store, and check what they saw
	HISTORIES=$${HISTORIES:-20} $(BIN)/pytest -m trial tests/histories

proof: .venv/ready java ## all that is random for HOURS (1), JOBS (1) at a time; goes on where it was, and tells all seeds
	$(BIN)/python -m tests.proof.run --hours $${HOURS:-1} --jobs $${JOBS:-1}

soak: .venv/ready ## keep a store busy for HOURS (1) with kills, draw memory, files and latency into soak/; needs no Java
	$(BIN)/python -m tests.endurance.run --hours $${HOURS:-1}

mutation-check: .venv/ready java ## put seeded bugs into a copy of the library, and see the tests notice them
	$(BIN)/python -m tests.mutations.check

mutants: .venv/ready ## change the library at random places (SEED=1 COUNT=100), and list what no test without Java notices
	$(BIN)/python -m tests.mutations.generated --seed $${SEED:-1} --count $${COUNT:-100} --jobs 2

transcripts: .venv/ready ## write anew what commands print, what a server answers and what pages say; read the diff
	@for each in command_transcripts rest_transcripts console_whole_pages; do \
		$(BIN)/python -m tests.unit.test_$$each || exit 1; done

spark-pairs-test: java ## run tests of DataFrames with other pairs of Spark and Delta (0.8 GB a pair, and half an hour)
	@PYTHON=$(PYTHON) sh conf/spark_pairs.sh .pairs $(PAIRS)

connect-test: .venv/ready java ## run the Delta tests by a Spark Connect server
	$(BIN)/pytest tests/delta --remote --timeout 600

cluster-test: .venv/ready java ## submit the wheel's jobs to a standalone cluster of two workers, on a shared directory and on S3
	@sh conf/storages.sh .storages
	$(BIN)/pytest -m cluster tests/cluster

object-storage-test: .venv/ready ## keep stores in S3 and Azure servers of this machine, which fail (needs Go and npm, and no Java)
	@sh conf/storages.sh .storages
	$(BIN)/pytest -m storages tests/storages --ignore-glob 'tests/storages/test_spark*.py'

object-storage-spark-test: .venv/ready java ## the same by Spark on S3 and HDFS (fetches 0.8 GB once)
	@sh conf/storages.sh .storages
	$(BIN)/pytest -m storages tests/storages/test_spark*.py

client-test: .venv/ready ## run Google's clients against a server: Node, Python, and Go and Java if they are there
	@sh conf/node.sh
	cd tests/clients/node && npm ci --ignore-scripts --no-audit --no-fund
	if command -v go >/dev/null; then cd tests/clients/go && go build -o client .; fi
	if command -v mvn >/dev/null; then cd tests/clients/java && mvn -q -B package dependency:copy-dependencies; fi
	$(BIN)/pytest -m clients tests/clients

client-soak: .venv/ready ## load a server for an hour, watch its memory, streams and leases, and draw them (needs no Java)
	$(BIN)/python -m tests.soak soak-result --seconds $${SECONDS:-3600} --rate $${RATE:-500}

console-test: .venv/ready ## drive the console in Chromium (installs it), and take screenshots; needs no Java
	@sh conf/chromium.sh
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,test-console]'
	$(BIN)/pytest -m console tests/console

unit: .venv/ready ## run the tests that need no Java, side by side (a minute or two)
	$(BIN)/pytest --numprocesses 3 --dist worksteal tests pubsub_delta $(addprefix --ignore ,$(NEED_JAVA))

oldest-test: .venv/ready ## run the tests of one lane with the oldest packages that pyproject.toml allows; needs no Java
	$(BIN)/pip install --quiet uv
	$(PYTHON) -m venv --clear .venv-oldest
	$(BIN)/uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct \
		--editable '.[dev]'
	.venv-oldest/bin/pytest --numprocesses 2 --dist loadscope -W "ignore:grpcio <:FutureWarning" \
		tests/unit tests/lanes

check: .venv/ready ## lint, check types, and hold the structure against the plan
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: .venv/ready ## lay the code out anew
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/ready java ## measure against plain Delta, a row per message, and Kafka (40 to 90 minutes)
	$(BIN)/python -m benchmarks --markdown benchmarks/results.md --json benchmarks/results.json

bench-full: .venv/ready java ## the same with 100 M messages and 10,000 commits (hours)
	$(BIN)/python -m benchmarks --full --markdown benchmarks/results-full.md \
		--json benchmarks/results-full.json

pictures: .venv/ready ## draw the charts of what was measured, and the ack state, anew
	$(BIN)/python -m benchmarks.charts
	$(BIN)/python -m docs.draw_pictures

docs: .venv/ready ## build the documentation as a site in site/
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lock: .venv/ready ## write the exact versions of the whole tree into constraints.txt
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --all-extras \
		--no-header --no-annotate --output-file constraints.txt pyproject.toml

java: ## install Java 17 where it is missing, or say how
	@sh conf/java.sh

clean: ## remove what the targets made, but not .venv
	rm -rf demo-output site spark-warehouse metastore_db derby.log .pytest_cache .mypy_cache \
		.ruff_cache .hypothesis dist console-screens soak

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed; try: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@
