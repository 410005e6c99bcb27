import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RunningCommandTests {
  @Test func `a command inherits no descriptors and no ignored signals`() async throws {
    let result = try await Command("/bin/sh", ["-c", "ls /proc/self/fd; grep SigIgn /proc/self/status"]).wait()
    // The two bits on the left, signals 32 and 33, belong to the C library.
    #expect(result.outputText.hasPrefix("0\n1\n2\n3\nSigIgn:"))
    #expect(result.outputText.hasSuffix("0000000\n"))
  }

  @Test func `a closed reader ends the writer`() async throws {
    let result = try await Command("/usr/bin/yes", output: .closedAfter(bytes: 10)).wait()
    #expect(result.ending == .signalled(SIGPIPE))
    #expect(result.output.count == 10)
    let full = try await Command("/bin/echo", ["x"], output: .file("/dev/full")).wait()
    #expect(full.status == 1)
    #expect(full.errorText.contains("No space left on device"))
  }
}

@Suite struct GoldenSentencesTests {
  @Test func `a sentence of the running test is found in its golden file`() {
    expectGolden("cannot open TMP: no such file")
    expectGolden("two lines,\nthe second behind an escape: \u{1B}[31m", for: "a label")
  }

  @Test(.disabled(if: Golden.isUpdating, "they would be recorded")) func `other sentences, other labels and silence fail`() {
    withKnownIssue { expectGolden("nobody says this") }
    withKnownIssue { expectGolden(nil) }
    withKnownIssue { expectGolden("") }
  }

  @Test func `what differs from run to run is masked`() {
    let folder = TemporaryDirectory()
    let said = "\(folder.file("a.txt")): http://127.0.0.1:40123/a, [::1]:40123, port 40123, process 4711".masked
    #expect(said == "TMP/a.txt: http://127.0.0.1:PORT/a, [::1]:PORT, port PORT, process PID")
    #expect("test: 300 URLs in 0.4 s, 24/s, 1.4 kB/s, 1 min 15 s".timeless == "test: 300 URLs in TIME, TIME, TIME, TIME")
  }

  @Test func `a golden file is read as it was written`() {
    var file = SentenceFile("")
    file.sections = [
      "Suite.second": [Sentence(text: "a\n## b\n\n- c\n").line, Sentence(text: "a", label: "x").line], "Suite.first": ["- a"],
    ]
    #expect(
      file.text == """
        ## Suite.first

        - a

        ## Suite.second

        - [x] a
        - a
          |## b
          |
          |- c
          |

        """
    )
    #expect(SentenceFile(file.text).sections == file.sections)
  }

  @Test func `an ellipsis in a golden file stands for any text`() {
    var file = SentenceFile("")
    file.sections = ["Suite.test": ["- [x] cannot open ⋯: ⋯ denied⋯", "- ⋯ is full"]]
    func isHeld(_ text: String, _ label: String?) -> Bool {
      file.problem(with: Sentence(text: text, label: label), under: "Suite.test") == nil
    }
    #expect(isHeld("cannot open a: permission denied; run as its owner", "x") && isHeld("the disk\n is full", nil))
    #expect(!isHeld("cannot open a: permission denied", "y") && !isHeld("cannot open a: permission denied", nil))
    #expect(!isHeld("cannot open a: it is gone", "x") && !isHeld("can open a: it is denied", "x"))
    #expect(!isHeld("the disk is full of it", nil))
  }

  @Test func `a failure shows the actual and the expected sentence`() {
    var file = SentenceFile("")
    file.sections = ["Suite.test": ["- [x] old words", "- [y] others", "- plain"]]
    #expect(file.problem(with: Sentence(text: "plain"), under: "Suite.test") == nil)
    #expect(
      file.problem(with: Sentence(text: "new words", label: "x"), under: "Suite.test") == """
        not under 'Suite.test'
        now:
        - [x] new words
        golden:
        - [x] old words
        PREWARM_UPDATE_GOLDENS=1 swift test --filter test updates it
        """
    )
    #expect(
      file.problem(with: Sentence(text: "plain"), under: "Suite.other")?.hasPrefix("heading 'Suite.other' is missing") == true
    )
  }
}
