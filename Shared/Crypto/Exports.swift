@_exported public import Hashes
