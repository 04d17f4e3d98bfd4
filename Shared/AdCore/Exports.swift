@_exported public import AdBasics
