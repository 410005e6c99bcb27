import Base
import TestSupport
import Testing

@testable import Lists

/// Signatures of image services, with the vectors of their documentation and client libraries.
@Suite struct URLSignerTests {
  private func signed(_ url: String, _ signer: URLSigner, template: String? = nil) throws -> ReadEntry {
    var manifest = URLList(.inline([URLList.InlineEntry(text: url, line: 3)]), name: "urls")
    manifest.signer = signer
    manifest.template = try template.map { try URLTemplate($0) }
    return try #require(try readAll([manifest]).entries.first)
  }

  @Test(arguments: ["", "/unsafe", "/insecure"])
  func `imgproxy's signature is the first segment, or replaces its stand-in`(standIn: String) throws {
    // The example of the documentation.
    let path = "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png"
    let signer = try URLSigner(.imgproxy, key: "736563726574", salt: "68656C6C6F")
    let entry = try signed("http://imgproxy.example.com\(standIn)\(path)", signer)
    #expect(entry.url == "http://imgproxy.example.com/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8\(path)")
    #expect(entry.line == 3 && entry.problem == nil)
  }

  @Test func `a template may place the signature below a prefix, and a query isn't signed`() throws {
    let path = "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png"
    let signer = try URLSigner(.imgproxy, key: "736563726574", salt: "68656C6C6F")
    let entry = try signed("https://a.com\(path)?v=3", signer, template: "https://cdn.example.com/img/{signature}/{path}?{query}")
    #expect(entry.url == "https://cdn.example.com/img/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8\(path)?v=3")
  }

  @Test(arguments: [
    ("300x200/", "8ammJH8D-7tXy6kU3lTvoXlhu4o="), ("meta/", "Ps3ORJDqxlSQ8y00T29GdNAh2CY="),
    ("smart/", "-2NHpejRK2CyPAm61FigfQgJBxw="), ("fit-in/", "uvLnA6TJlF-Cc-L8z9pEtfasO3s="),
    ("filters:brightness(10):contrast(20)/", "ZZtPCw-BLYN1g42Kh8xTcRs0Qls="),
  ])
  func `thumbor's signature is the first segment`(options: String, signature: String) throws {
    let path = "\(options)my.server.com/some/path/to/image.jpg"
    let signer = try URLSigner(.thumbor, key: "my-security-key")
    #expect(try signed("https://t.example.com/\(path)", signer).url == "https://t.example.com/\(signature)/\(path)")
    #expect(try signed("https://t.example.com/unsafe/\(path)", signer).url == "https://t.example.com/\(signature)/\(path)")
  }

  @Test(arguments: [
    ("image/upload", "Ai4Znfl3", "c_crop,h_20,w_10/v1234/image.jpg"), ("image/upload", "--SjmNDA", "v1234/image.jpg"),
    ("image/upload", "Ai4Znfl3", "c_crop,h_20,w_10/image.jpg"), ("image/authenticated", "Ai4Znfl3", "c_crop,h_20,w_10/image.jpg"),
    ("image/fetch", "hH_YcbiS", "v1234/http://google.com/path/to/image.png"),
    ("image/authenticated", "Uqk1a-5W", "co_red,l_text:Times_70_bold:Cool%25F0%259F%2598%258D/image.jpg"),
  ])
  func `Cloudinary's signature follows the delivery type and doesn't include the version`(
    type: String,
    signature: String,
    rest: String
  ) throws {
    let signer = try URLSigner(.cloudinary, key: "b")
    let site = "https://res.cloudinary.com/test123/\(type)/"
    #expect(try signed("\(site)\(rest)", signer).url == "\(site)s--\(signature)--/\(rest)")
  }

  @Test func `Cloudinary's images on a domain of their own are signed where the template says`() throws {
    let signer = try URLSigner(.cloudinary, key: "b")
    let template = "https://i.example.com/{signature}/c_crop,h_20,w_10/v1234/{path}"
    let entry = try signed("https://a.com/image.jpg", signer, template: template)
    #expect(entry.url == "https://i.example.com/s--Ai4Znfl3--/c_crop,h_20,w_10/v1234/image.jpg")
  }

  @Test func `a URL that can't be signed is invalid`() throws {
    let cloudinary = try URLSigner(.cloudinary, key: "b")
    let thumbor = try URLSigner(.thumbor, key: "b")
    let entries = [
      try signed("https://res.cloudinary.com/test123/raw/upload/a.pdf", cloudinary),
      try signed("https://t.example.com/", thumbor),
      try signed("https://t.example.com/unsafe", thumbor),
      try signed("https://a.com/1.jpg", thumbor, template: "https://t.example.com/{path}?s={signature}"),
      try signed("https://a.com/1.jpg", thumbor, template: "https://t.example.com/x{signature}/{path}"),
    ]
    for entry in entries { expectGolden(entry.problem, for: entry.written) }
    #expect(entries[3].written == "https://t.example.com/1.jpg?s=~signature~")
  }

  @Test func `keys are checked, and no description shows them`() throws {
    #expect(throws: InvalidSigningKey.emptyKey) { try URLSigner(.thumbor, key: "") }
    #expect(throws: InvalidSigningKey.keyNotHexadecimal) { try URLSigner(.imgproxy, key: "secret", salt: "68") }
    #expect(throws: InvalidSigningKey.keyNotHexadecimal) { try URLSigner(.imgproxy, key: "686", salt: "68") }
    #expect(throws: InvalidSigningKey.saltNotHexadecimal) { try URLSigner(.imgproxy, key: "68") }
    let signer = try URLSigner(.cloudinary, key: "hunter2")
    var shown = ""
    dump(signer, to: &shown)
    #expect("\(signer)" == "cloudinary ***" && !shown.contains("hunter2") && !shown.contains("104"))
  }
}
