"""``make proof``: all that is random, for hours, with counts and seeds that are kept.

``parts`` says what is run and how often at least; ``ledger`` keeps what was done; ``run`` chooses
what comes next until the time is over or all counts are reached.
"""
