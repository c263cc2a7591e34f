"""All seeded bugs, by name."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.bugs_of_a_fifteenth_outsider import BUGS_OF_A_FIFTEENTH_OUTSIDER
from tests.mutations.bugs_of_a_fifteenth_outsider_at_surfaces import (
    BUGS_OF_A_FIFTEENTH_OUTSIDER_AT_SURFACES,
)
from tests.mutations.bugs_of_a_fourteenth_outsider import BUGS_OF_A_FOURTEENTH_OUTSIDER
from tests.mutations.bugs_of_a_framework import BUGS_OF_A_FRAMEWORK
from tests.mutations.bugs_of_a_later_outsider import BUGS_OF_A_LATER_OUTSIDER
from tests.mutations.bugs_of_a_ninth_outsider import BUGS_OF_A_NINTH_OUTSIDER
from tests.mutations.bugs_of_a_reader_of_jobs import BUGS_OF_A_READER_OF_JOBS
from tests.mutations.bugs_of_a_reader_of_messages import BUGS_OF_A_READER_OF_MESSAGES
from tests.mutations.bugs_of_a_reader_of_operation import BUGS_OF_A_READER_OF_OPERATION
from tests.mutations.bugs_of_a_reader_of_servers import BUGS_OF_A_READER_OF_SERVERS
from tests.mutations.bugs_of_a_reader_of_several_servers import (
    BUGS_OF_A_READER_OF_SEVERAL_SERVERS,
)
from tests.mutations.bugs_of_a_reader_of_streams import BUGS_OF_A_READER_OF_STREAMS
from tests.mutations.bugs_of_a_second_spark_reader import BUGS_OF_A_SECOND_SPARK_READER
from tests.mutations.bugs_of_a_seventh_outsider import BUGS_OF_A_SEVENTH_OUTSIDER
from tests.mutations.bugs_of_a_seventh_outsider_at_servers import (
    BUGS_OF_A_SEVENTH_OUTSIDER_AT_SERVERS,
)
from tests.mutations.bugs_of_a_seventh_outsider_at_surfaces import (
    BUGS_OF_A_SEVENTH_OUTSIDER_AT_SURFACES,
)
from tests.mutations.bugs_of_a_sixth_outsider import BUGS_OF_A_SIXTH_OUTSIDER
from tests.mutations.bugs_of_a_sixth_outsider_at_surfaces import (
    BUGS_OF_A_SIXTH_OUTSIDER_AT_SURFACES,
)
from tests.mutations.bugs_of_a_spark_reader import BUGS_OF_A_SPARK_READER
from tests.mutations.bugs_of_a_streaming_reader import BUGS_OF_A_STREAMING_READER
from tests.mutations.bugs_of_a_tenth_outsider import BUGS_OF_A_TENTH_OUTSIDER
from tests.mutations.bugs_of_a_tenth_outsider_at_surfaces import (
    BUGS_OF_A_TENTH_OUTSIDER_AT_SURFACES,
)
from tests.mutations.bugs_of_a_thirteenth_outsider import BUGS_OF_A_THIRTEENTH_OUTSIDER
from tests.mutations.bugs_of_a_twelfth_outsider import BUGS_OF_A_TWELFTH_OUTSIDER
from tests.mutations.bugs_of_access import BUGS_OF_ACCESS
from tests.mutations.bugs_of_administration import BUGS_OF_ADMINISTRATION
from tests.mutations.bugs_of_an_adversary import BUGS_OF_AN_ADVERSARY
from tests.mutations.bugs_of_an_eighth_outsider import BUGS_OF_AN_EIGHTH_OUTSIDER
from tests.mutations.bugs_of_an_eighth_outsider_at_jobs import BUGS_OF_AN_EIGHTH_OUTSIDER_AT_JOBS
from tests.mutations.bugs_of_an_eighth_outsider_at_servers import (
    BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SERVERS,
)
from tests.mutations.bugs_of_an_eighth_outsider_at_surfaces import (
    BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SURFACES,
)
from tests.mutations.bugs_of_an_eighth_outsider_by_spark import (
    BUGS_OF_AN_EIGHTH_OUTSIDER_BY_SPARK,
)
from tests.mutations.bugs_of_an_eleventh_outsider import BUGS_OF_AN_ELEVENTH_OUTSIDER
from tests.mutations.bugs_of_an_operator import BUGS_OF_AN_OPERATOR
from tests.mutations.bugs_of_an_outsider import BUGS_OF_AN_OUTSIDER
from tests.mutations.bugs_of_an_outsider_at_surfaces import BUGS_OF_AN_OUTSIDER_AT_SURFACES
from tests.mutations.bugs_of_an_outsider_by_spark import BUGS_OF_AN_OUTSIDER_BY_SPARK
from tests.mutations.bugs_of_another_outsider import BUGS_OF_ANOTHER_OUTSIDER
from tests.mutations.bugs_of_answers import BUGS_OF_ANSWERS
from tests.mutations.bugs_of_bounds import BUGS_OF_BOUNDS
from tests.mutations.bugs_of_checkpoints import BUGS_OF_CHECKPOINTS
from tests.mutations.bugs_of_clients import BUGS_OF_CLIENTS
from tests.mutations.bugs_of_command_lines import BUGS_OF_COMMAND_LINES
from tests.mutations.bugs_of_commands import BUGS_OF_COMMANDS
from tests.mutations.bugs_of_delivery import BUGS_OF_DELIVERY
from tests.mutations.bugs_of_faults import BUGS_OF_FAULTS
from tests.mutations.bugs_of_forms import BUGS_OF_FORMS
from tests.mutations.bugs_of_generated_mutants import BUGS_OF_GENERATED_MUTANTS
from tests.mutations.bugs_of_given_data import BUGS_OF_GIVEN_DATA
from tests.mutations.bugs_of_grammar import BUGS_OF_GRAMMAR
from tests.mutations.bugs_of_interrupts import BUGS_OF_INTERRUPTS
from tests.mutations.bugs_of_last_numbers import BUGS_OF_LAST_NUMBERS
from tests.mutations.bugs_of_later_lives import BUGS_OF_LATER_LIVES
from tests.mutations.bugs_of_layouts import BUGS_OF_LAYOUTS
from tests.mutations.bugs_of_lines import BUGS_OF_LINES
from tests.mutations.bugs_of_listings import BUGS_OF_LISTINGS
from tests.mutations.bugs_of_looks import BUGS_OF_LOOKS
from tests.mutations.bugs_of_messages import BUGS_OF_MESSAGES
from tests.mutations.bugs_of_more_rims import BUGS_OF_MORE_RIMS
from tests.mutations.bugs_of_moved_deadlines import BUGS_OF_MOVED_DEADLINES
from tests.mutations.bugs_of_newcomers import BUGS_OF_NEWCOMERS
from tests.mutations.bugs_of_one_more_outsider import BUGS_OF_ONE_MORE_OUTSIDER
from tests.mutations.bugs_of_operations import BUGS_OF_OPERATIONS
from tests.mutations.bugs_of_order import BUGS_OF_ORDER
from tests.mutations.bugs_of_other_programs import BUGS_OF_OTHER_PROGRAMS
from tests.mutations.bugs_of_outsiders import BUGS_OF_OUTSIDERS
from tests.mutations.bugs_of_platforms import BUGS_OF_PLATFORMS
from tests.mutations.bugs_of_promises import BUGS_OF_PROMISES
from tests.mutations.bugs_of_promises_of_consumers import BUGS_OF_PROMISES_OF_CONSUMERS
from tests.mutations.bugs_of_promises_of_delivery import BUGS_OF_PROMISES_OF_DELIVERY
from tests.mutations.bugs_of_push import BUGS_OF_PUSH
from tests.mutations.bugs_of_readings import BUGS_OF_READINGS
from tests.mutations.bugs_of_replay import BUGS_OF_REPLAY
from tests.mutations.bugs_of_rest import BUGS_OF_REST
from tests.mutations.bugs_of_rims import BUGS_OF_RIMS
from tests.mutations.bugs_of_schemas import BUGS_OF_SCHEMAS
from tests.mutations.bugs_of_server import BUGS_OF_SERVER
from tests.mutations.bugs_of_sessions import BUGS_OF_SESSIONS
from tests.mutations.bugs_of_spark_sessions import BUGS_OF_SPARK_SESSIONS
from tests.mutations.bugs_of_storages import BUGS_OF_STORAGES
from tests.mutations.bugs_of_surfaces import BUGS_OF_SURFACES
from tests.mutations.bugs_of_table_writes import BUGS_OF_TABLE_WRITES
from tests.mutations.bugs_of_tables import BUGS_OF_TABLES
from tests.mutations.bugs_of_terminals import BUGS_OF_TERMINALS
from tests.mutations.bugs_of_the_client import BUGS_OF_THE_CLIENT
from tests.mutations.bugs_of_the_console import BUGS_OF_THE_CONSOLE
from tests.mutations.bugs_of_the_protocol import BUGS_OF_THE_PROTOCOL
from tests.mutations.bugs_of_the_source import BUGS_OF_THE_SOURCE
from tests.mutations.bugs_of_traces import BUGS_OF_TRACES
from tests.mutations.bugs_of_trials_of_promises import BUGS_OF_TRIALS_OF_PROMISES
from tests.mutations.bugs_of_untested_branches import BUGS_OF_UNTESTED_BRANCHES
from tests.mutations.bugs_of_untested_branches_at_surfaces import (
    BUGS_OF_UNTESTED_BRANCHES_AT_SURFACES,
)
from tests.mutations.bugs_of_values import BUGS_OF_VALUES
from tests.mutations.bugs_of_yet_another_outsider import BUGS_OF_YET_ANOTHER_OUTSIDER

BUGS: tuple[Bug, ...] = (
    *BUGS_OF_DELIVERY,
    *BUGS_OF_BOUNDS,
    *BUGS_OF_INTERRUPTS,
    *BUGS_OF_LATER_LIVES,
    *BUGS_OF_ORDER,
    *BUGS_OF_REPLAY,
    *BUGS_OF_VALUES,
    *BUGS_OF_ADMINISTRATION,
    *BUGS_OF_OPERATIONS,
    *BUGS_OF_TABLES,
    *BUGS_OF_TABLE_WRITES,
    *BUGS_OF_TRACES,
    *BUGS_OF_MESSAGES,
    *BUGS_OF_READINGS,
    *BUGS_OF_PUSH,
    *BUGS_OF_SURFACES,
    *BUGS_OF_SCHEMAS,
    *BUGS_OF_SERVER,
    *BUGS_OF_ANSWERS,
    *BUGS_OF_REST,
    *BUGS_OF_ACCESS,
    *BUGS_OF_COMMANDS,
    *BUGS_OF_THE_CLIENT,
    *BUGS_OF_THE_SOURCE,
    *BUGS_OF_LAST_NUMBERS,
    *BUGS_OF_LAYOUTS,
    *BUGS_OF_LINES,
    *BUGS_OF_GRAMMAR,
    *BUGS_OF_LISTINGS,
    *BUGS_OF_PLATFORMS,
    *BUGS_OF_THE_CONSOLE,
    *BUGS_OF_STORAGES,
    *BUGS_OF_SESSIONS,
    *BUGS_OF_LOOKS,
    *BUGS_OF_TERMINALS,
    *BUGS_OF_FAULTS,
    *BUGS_OF_OUTSIDERS,
    *BUGS_OF_GIVEN_DATA,
    *BUGS_OF_THE_PROTOCOL,
    *BUGS_OF_CLIENTS,
    *BUGS_OF_PROMISES,
    *BUGS_OF_TRIALS_OF_PROMISES,
    *BUGS_OF_CHECKPOINTS,
    *BUGS_OF_NEWCOMERS,
    *BUGS_OF_AN_OUTSIDER,
    *BUGS_OF_AN_OUTSIDER_AT_SURFACES,
    *BUGS_OF_AN_OUTSIDER_BY_SPARK,
    *BUGS_OF_ANOTHER_OUTSIDER,
    *BUGS_OF_YET_ANOTHER_OUTSIDER,
    *BUGS_OF_RIMS,
    *BUGS_OF_A_LATER_OUTSIDER,
    *BUGS_OF_SPARK_SESSIONS,
    *BUGS_OF_ONE_MORE_OUTSIDER,
    *BUGS_OF_MORE_RIMS,
    *BUGS_OF_MOVED_DEADLINES,
    *BUGS_OF_A_SIXTH_OUTSIDER,
    *BUGS_OF_A_SIXTH_OUTSIDER_AT_SURFACES,
    *BUGS_OF_A_SEVENTH_OUTSIDER,
    *BUGS_OF_A_SEVENTH_OUTSIDER_AT_SURFACES,
    *BUGS_OF_A_SEVENTH_OUTSIDER_AT_SERVERS,
    *BUGS_OF_GENERATED_MUTANTS,
    *BUGS_OF_AN_EIGHTH_OUTSIDER,
    *BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SERVERS,
    *BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SURFACES,
    *BUGS_OF_AN_EIGHTH_OUTSIDER_BY_SPARK,
    *BUGS_OF_AN_EIGHTH_OUTSIDER_AT_JOBS,
    *BUGS_OF_OTHER_PROGRAMS,
    *BUGS_OF_AN_ADVERSARY,
    *BUGS_OF_A_NINTH_OUTSIDER,
    *BUGS_OF_A_SPARK_READER,
    *BUGS_OF_A_SECOND_SPARK_READER,
    *BUGS_OF_A_STREAMING_READER,
    *BUGS_OF_A_TENTH_OUTSIDER,
    *BUGS_OF_AN_ELEVENTH_OUTSIDER,
    *BUGS_OF_A_TWELFTH_OUTSIDER,
    *BUGS_OF_A_THIRTEENTH_OUTSIDER,
    *BUGS_OF_A_FOURTEENTH_OUTSIDER,
    *BUGS_OF_A_FIFTEENTH_OUTSIDER,
    *BUGS_OF_A_FIFTEENTH_OUTSIDER_AT_SURFACES,
    *BUGS_OF_A_TENTH_OUTSIDER_AT_SURFACES,
    *BUGS_OF_PROMISES_OF_DELIVERY,
    *BUGS_OF_PROMISES_OF_CONSUMERS,
    *BUGS_OF_COMMAND_LINES,
    *BUGS_OF_FORMS,
    *BUGS_OF_A_READER_OF_JOBS,
    *BUGS_OF_A_READER_OF_MESSAGES,
    *BUGS_OF_A_READER_OF_SERVERS,
    *BUGS_OF_A_READER_OF_SEVERAL_SERVERS,
    *BUGS_OF_A_READER_OF_STREAMS,
    *BUGS_OF_AN_OPERATOR,
    *BUGS_OF_A_FRAMEWORK,
    *BUGS_OF_A_READER_OF_OPERATION,
    *BUGS_OF_UNTESTED_BRANCHES,
    *BUGS_OF_UNTESTED_BRANCHES_AT_SURFACES,
)
