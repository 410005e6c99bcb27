import ImagePrimitives

extension PixelBuffer {
  /// The image as it is to be written: reduced to the box that the options ask for.
  func fitting(_ options: EncodingOptions) -> PixelBuffer {
    reduced(to: DecodingOptions(thumbnail: options.maximumSize).decodedSize(of: size))
  }
}

extension EncodingOptions {
  /// That a file takes more bytes than it may.
  func tooLarge(_ what: String) -> ImageError {
    ImageError(.unencodable, "the image takes more than \(maximumBytes ?? .max) bytes \(what)")
  }
}
