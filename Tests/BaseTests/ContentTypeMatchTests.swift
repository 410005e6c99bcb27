import Base
import Testing

@Suite("declared content types and detected formats") struct ContentTypeMatchTests {
  @Test(
    arguments: [
      ("image/jpeg", .jpeg, .exact),
      ("IMAGE/JPEG", .jpeg, .exact),
      (" image/jpeg ; charset=binary", .jpeg, .exact),
      ("image/png, image/png", .png, .exact),
      ("image/svg+xml;charset=utf-8", .svg, .exact),
      ("image/jpg", .jpeg, .alias),
      ("image/pjpeg", .jpeg, .alias),
      ("Image/X-PNG", .png, .alias),
      ("image/x-icon", .ico, .exact),
      ("image/x-win-bitmap", .ico, .alias),
      ("application/svg+xml", .svg, .alias),
      ("text/xml; charset=utf-8", .svg, .generic),
      ("application/xml", .svg, .generic),
      ("application/xml", .png, .mismatch),
      ("text/plain", .svg, .mismatch),
      ("application/octet-stream", .webp, .generic),
      ("binary/octet-stream; x=y", .png, .generic),
      ("unknown/unknown", .png, .generic), ("application/unknown", .webp, .generic), ("*/*", .gif, .generic),
      ("image/*;q=0.8", .jpeg, .generic), ("Application/X-Unknown", .avif, .generic), ("content/unknown", .png, .generic),
      ("application/x-octet-stream", .png, .generic), ("application/octetstream", .png, .generic),
      ("application/force-download", .jpeg, .generic), ("application/x-download", .jpeg, .generic),
      ("application/binary", .jpeg, .generic), ("image/unknown", .svg, .generic),
      // These aren't types, and so unknown.
      ("image", .jpeg, .generic), ("jpg", .jpeg, .generic), ("image/", .jpeg, .generic), ("/png", .png, .generic),
      ("\"image/png\"", .png, .generic), ("undefined", .png, .generic), ("image/p ng", .png, .generic),
      ("image/jpeg, */*", .jpeg, .exact), ("unknown/unknown, image/png", .png, .exact), ("text/html, image/png", .png, .exact),
      ("image/png, text/html", .png, .mismatch), (", image/png,", .png, .exact),
      ("text/plain", .png, .mismatch), ("application/unknownx", .png, .mismatch), ("application/zip", .png, .mismatch),
      (nil, .png, .absent),
      ("", .png, .absent),
      ("  ;charset=utf-8", .png, .absent),
      ("image/png", .jpeg, .mismatch),
      ("image/jpg", .png, .mismatch),
      ("text/html", .jpeg, .mismatch),
      ("image/jpegs", .jpeg, .mismatch),
      ("image/jpe", .jpeg, .mismatch),
    ] as [(String?, ImageFormat, ContentTypeMatch)]
  )
  func `each declared type is compared with the detected format`(declared: String?, format: ImageFormat, match: ContentTypeMatch)
  {
    #expect(ContentTypeMatch(declared: declared, format: format) == match)
  }
}
