"""gcloud's grammar of resources: filters, projections, formats and their transforms.

It implements ``gcloud topic filters``, ``projections`` and ``formats`` as gcloud behaves. All of it
is pure: text and records in, records out.

    syntax           the lark grammars
    keys             paths of values in records
    transforms       transforms of values; time_transforms: of times and durations
    calls            chains of transform calls
    matching         comparisons of values with operands
    filters          filters of records
    selection        flatten, filter, sort and limit
    context          the time, the zone and the options

``cli.formats`` parses formats, and ``cli.printing`` prints records.
"""
