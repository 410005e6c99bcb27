import RedisClient
import Testing

@Suite struct RedisAddressTests {
  @Test func anAddressIsShownWithItsDefaultsAndWithoutItsSecrets() throws {
    #expect(try RedisAddress("redis://host").description == "redis://host:6379/0")
    #expect(try RedisAddress("redis://me:se%40cret@[::1]:7/3").description == "redis://***@[::1]:7/3")
  }
}
