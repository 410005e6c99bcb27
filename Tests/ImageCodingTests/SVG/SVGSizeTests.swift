import ImageCoding
import Base
import Testing

@Suite("sizes of SVG images") struct SVGSizeTests {
  @Test(
    arguments: [
      ("width='20' height='10'", 20, 10),
      ("width=' 20px ' height='10PX'", 20, 10),
      ("width='20.2' height='9.00001'", 21, 9),
      ("width='1in' height='2.54cm'", 96, 96),
      ("width='25.4mm' height='101.6Q'", 96, 96),
      ("width='72pt' height='6pc'", 96, 96),
      ("width='2em' height='2rem'", 32, 32),
      ("width='1e2' height='1.5e+1ex'", 100, 120),
      ("width='+.5' height='0.5'", 1, 1),
      ("width='1e300' height='1e99'", 2_147_483_647, 2_147_483_647),
      // One side.
      ("width='40'", 40, 150),
      ("height='40'", 300, 40),
      ("width='40' viewBox='0 0 4 1'", 40, 10),
      ("height='40' viewBox='0 0 4 1'", 160, 40),
      ("width='40' height='50%' viewBox='0 0 4 1'", 40, 10),
      // Neither.
      ("", 300, 150),
      ("width='100%' height='100%'", 300, 150),
      ("viewBox='-1 -1 24 16.5'", 24, 17),
      ("viewBox='0,0,24,16'", 24, 16),
      ("viewBox='0-1 24+16'", 24, 16),
      ("width='auto' height='100vh' viewBox='0 0 24 16'", 24, 16),
      ("width='-5' height='calc(1px + 1px)' viewBox='0 0 24 16'", 24, 16),
      // Invalid boxes.
      ("viewBox='0 0 24'", 300, 150),
      ("viewBox='0 0 24 0'", 300, 150),
      ("viewBox='0 0 -24 16'", 300, 150),
      ("viewBox='0 0 24 16px'", 300, 150),
      ("width='5 px' height='1e999'", 300, 150),
      // Styles don't count, as in browsers.
      ("width='5' height='6' style='width: 50px; height: 7px'", 5, 6),
      // Other namespaces.
      ("xlink:width='20' height='10' viewBox='0 0 1 1'", 10, 10),
    ] as [(String, Int, Int)]
  )
  func `the root element's attributes determine the size`(attributes: String, width: Int, height: Int) throws {
    let header = try SVG.prove(SVG.document(attributes: attributes)).header
    #expect(header.size == ImageSize(width: width, height: height))
  }

  @Test func `pixel limits don't apply, since SVG scales`() throws {
    let text = SVG.document(attributes: "width='1000000' height='1000000'")
    let header = try SVG.prove(text, limits: DecodingLimits(maximumPixels: 1)).header
    #expect(header.size == ImageSize(width: 1_000_000, height: 1_000_000))
  }
}
