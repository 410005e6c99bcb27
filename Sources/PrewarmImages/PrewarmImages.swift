// The single import for programs that use the library.
@_exported public import ImageCaching
@_exported public import ImageCoding
@_exported public import ImageDownloading
@_exported public import ImageManaging
@_exported public import Base
