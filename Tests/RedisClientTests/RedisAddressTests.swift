import TestSupport
import Testing

@testable import RedisClient

@Suite struct RedisAddressTests {
  @Test(
    "addresses are shown with defaults and without secrets",
    arguments: [
      ("redis://host", "redis://host:6379/0"),
      ("REDIS://host:7/", "redis://host:7/0"),
      ("redis://", "redis://127.0.0.1:6379/0"),
      ("redis://[::1]", "redis://[::1]:6379/0"),
      ("redis://[fe80::1]:7/3", "redis://[fe80::1]:7/3"),
      ("redis://me:secret@host/15", "redis://***@host:6379/15"),
      ("redis://:secret@host", "redis://***@host:6379/0"),
      ("redis://me:se/cret@host", nil),
      ("redis://me:s@cret@host", "redis://***@host:6379/0"),
      ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock?db=0"),
      ("unix://:secret@/run/a%20b.sock?db=4", "redis+unix://***@/run/a b.sock?db=4"),
    ]
  )
  func addressesAreShownWithTheirDefaultsAndWithoutTheirSecrets(text: String, shown: String?) {
    #expect((try? RedisAddress(text))?.description == shown)
  }

  @Test("user and password are percent-decoded") func userAndPasswordAreDecoded() throws {
    let address = try RedisAddress("redis://m%65:%40%2F%3A@host")
    #expect(address.user == "me" && address.password == "@/:")
    var shown = ""
    dump(address, to: &shown)
    #expect(!shown.contains("@/:") && !"\(address)".contains("@/:") && !String(reflecting: address).contains("@/:"))
  }

  @Test("any password is a secret, and the default user isn't") func thePasswordIsASecretWhateverItIsAndTheDefaultUserIsNone()
    throws
  {
    #expect(try RedisAddress("redis://default:secret@host").hasSecret(in: "a secret"))
    #expect(try !RedisAddress("redis://default:secret@host").hasSecret(in: "a default"))
    #expect(try RedisAddress("redis://default:default@host").hasSecret(in: "a default"))
    #expect(try RedisAddress("redis://me:secret@host").hasSecret(in: "for me"))
    #expect(try !RedisAddress("redis://me:secret@host").hasSecret(in: "for you"))
  }

  @Test("the environment provides the password if the address has none")
  func thePasswordComesFromTheEnvironmentWhereTheAddressHasNone() throws {
    let environment = ["REDISCLI_AUTH": "secret"]
    #expect(try RedisAddress("redis://host", environment: environment).password == "secret")
    let address = try RedisAddress("redis://me@host", environment: environment)
    #expect(address.user == "me" && address.password == "secret")
    #expect(try RedisAddress("redis://me:own@host", environment: environment).password == "own")
    #expect(try RedisAddress("redis://host", environment: ["REDISCLI_AUTH": ""]).password == nil)
  }

  @Test(
    "an invalid address is rejected with a message",
    arguments: [
      "", "host", "http://host", "redis:host", "redis://host:0", "redis://host:65536", "redis://host:x", "redis://::1",
      "redis://host/x",
      "redis://host/-1", "redis://me@host", "redis://me:%zz@host", "redis://me:%0@host", "redis://h%00st", "redis+unix://path",
      "unix:///p?x=1",
      "redis://me:%FF@host",
    ]
  )
  func whatIsNoAddressIsRefusedInASentence(text: String) {
    let error = #expect(throws: RedisAddressError.self) { try RedisAddress(text) }
    #expect((error?.description.count ?? 0) > 20 && !(error?.description ?? "").contains("%zz"))
  }

  @Test("TLS is rejected with advice") func tlsIsRefusedWithWhatToDoInstead() {
    let error = #expect(throws: RedisAddressError.self) { try RedisAddress("rediss://me:secret@host") }
    #expect(error?.description.contains("stunnel") == true && error?.description.contains("secret") == false)
  }
}
