"""The methods of PubSub, by subject. ``client`` lists them; each calls one operation."""
