import Foundation
import TestSupport
import Testing

@Suite struct SchemaCommandTests {
  @Test func `schema prints JSON`() async throws {
    let result = try await Command.run(BuiltCommand.path, ["schema"])
    #expect(result.status == 0 && result.error.isEmpty)
    let schema = try #require(JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any])
    #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    #expect((schema["properties"] as? [String: Any])?["prefetch"] != nil)
  }

  @Test func `schema reports a full disk`() async throws {
    let result = try await Command.run(BuiltCommand.path, ["schema"], output: .file("/dev/full"))
    #expect(result.status == 1)
    expectGolden(result.errorText)
  }
}
