"""The build of the Cython extensions, used by setup.py.

`sources` says what belongs to a module, `flags` how it is compiled, `keys` combines both into the content key of an
extension, `cache` keeps built extensions by that key, `translation` runs Cython, `command` is setuptools' build_ext.
"""
