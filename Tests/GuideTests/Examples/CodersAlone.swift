import PrewarmImages

// guide
/// Makes a JPEG of at most 320 × 320 pixels and 50,000 bytes from an uploaded image.
func thumbnail(of upload: [UInt8]) throws(ImageError) -> [UInt8] {
  let coders = ImageCoderRegistry.standard
  let header = try coders.header(of: upload)
  guard header.format != .svg, header.size.pixels <= 50_000_000 else { throw ImageError(.undecodable, "unsupported image") }

  let box = ImageSize(width: 320, height: 320)
  let image = try coders.decode(upload, options: DecodingOptions(thumbnail: box, firstFrameOnly: true))
  return try coders.encode(image, as: .jpeg, options: EncodingOptions(quality: 80, maximumBytes: 50_000))
}
// end

// guide
func describe(_ bytes: [UInt8]) -> String {
  guard let format = ImageFormat(of: bytes) else { return "not an image" }
  do {
    let proof = try ImageCoderRegistry.standard.proveDecodable(bytes)
    return "\(format.name), \(proof.header.size.width) x \(proof.header.size.height) pixels, \(proof.warnings.count) warnings"
  } catch {
    return "broken \(format.name): \(error.message)"
  }
}
// end

func makeAvatar(_ image: DecodedImage) throws -> [UInt8] {
  // guide
  let avatar = try ImageTransform.pipeline([.circle, .resize(width: 96)]).transform(image)
  let png = try ImageCoderRegistry.standard.encode(avatar, as: .png)
  // end
  return png
}
