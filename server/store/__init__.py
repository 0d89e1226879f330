"""Redis and Valkey: keys, one Lua script per verb, and the Python verbs beside them; the only package that imports the
driver."""
