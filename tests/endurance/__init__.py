"""``make soak``: one store at a steady rate for hours, through the library and through servers.

``library`` and ``google`` are the processes that work, ``run`` starts, kills and measures them,
``series`` says what is flat, and ``picture`` draws it.
"""
