"""The life of the hierarchy: identity, manifests, the order of writes.

Internal: nothing here is part of the public interface.
"""
