"""gcloud's grammar of resources: filters, projections, formats and their transforms.

What ``gcloud topic filters``, ``projections`` and ``formats`` describe, as gcloud behaves.
Everything here is pure: texts and records go in, and records come out.

    syntax           the grammars, built by lark when the first text is read
    keys             where in a record a value is
    transforms       what is made of a value; time_transforms: of times and durations
    calls            transforms one after the other, as a text calls them
    matching         how a value is compared with an operand
    filters          which records are shown
    selection        flattened, filtered, sorted, and how many
    context          the time, the zone and the options that they are read in

What a format makes of all this is in ``cli.formats``, and how it is printed in ``cli.printing``.
"""
