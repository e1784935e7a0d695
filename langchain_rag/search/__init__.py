"""From hits among variations to distinct chunks.

Internal: nothing here is part of the public interface.
"""
