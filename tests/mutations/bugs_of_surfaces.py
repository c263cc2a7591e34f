"""Bugs of the server and the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

_JOBS = "console/jobs.py"

_SUBSCRIBER = "server/subscriber_service.py"

BUGS_OF_SURFACES = (
    Bug(
        "given-in-the-last-instant",
        "Messages are lost until their deadline that come at the instant of a pull's time-out.",
        _SUBSCRIBER,
        "        await asyncio.wait([given], timeout=patience)\n",
        "        try:\n            await asyncio.wait_for(given, patience)\n"
        "        except asyncio.TimeoutError:\n            return ()\n",
    ),
    Bug(
        "given-to-who-is-gone",
        "Messages that were given to a client which has gone away come after their deadline.",
        _SUBSCRIBER,
        "            dispatcher.give_back(given.result())\n",
        "            pass\n",
    ),
    Bug(
        "given-back-is-a-nack",
        "What could not be sent to a client counts as a failed delivery.",
        "server/dispatcher.py",
        "self.leaser.give_back(each.received.ack_id for each in deliveries)",
        "self.modify_ack_deadline([each.received.ack_id for each in deliveries], 0)",
    ),
    Bug(
        "forms-kept-by-number",
        "The console keeps a hundred forms, however large they are.",
        _JOBS,
        "if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:",
        "if len(self._jobs) < KEPT:",
    ),
    Bug(
        "form-kept-after-success",
        "The console keeps a form that was accepted.",
        _JOBS,
        "            self._failed, self.form_bytes = None, 0",
        "            pass",
    ),
    Bug(
        "answered-job-kept",
        "The console keeps work whose page was the answer.",
        "console/responses.py",
        "    console.jobs.forget(job)\n",
        "",
    ),
)
