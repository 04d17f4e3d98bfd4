// `import AdClient` gives an app every name that it needs, and none of the server's.
@_exported public import struct AdBasics.AdAction
@_exported public import enum AdBasics.AdEntity
@_exported public import enum AdBasics.AdError
@_exported public import typealias AdBasics.AdID
@_exported public import enum AdBasics.AdSize
@_exported public import enum AdBasics.AppEntity
@_exported public import typealias AdBasics.AppID
@_exported public import struct AdBasics.Country
@_exported public import struct AdBasics.Currency
@_exported public import enum AdBasics.Device
@_exported public import struct AdBasics.Identifier
@_exported public import struct AdBasics.Nanos
@_exported public import enum AdBasics.Orientation
@_exported public import enum AdBasics.PlacementEntity
@_exported public import typealias AdBasics.PlacementID
@_exported public import typealias AdBasics.ServeID
@_exported public import struct AdBasics.UUIDv7
