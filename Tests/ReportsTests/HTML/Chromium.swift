import Foundation
import TestSupport

/// Debian's Chromium without a window, which opens a page in a frame and runs a test's script beside it.
///
/// The script is in a page around the frame, since the page's policy allows only its own; here files may reach into
/// each other's frames (`--allow-file-access-from-files`).
struct Chromium {
  /// The size of the frame in CSS pixels.
  var width = 1280
  /// The size of the frame in CSS pixels.
  var height = 800
  /// Whether scripts of the page run.
  var runsScripts = true

  /// Opens `html` and gives what `script`, the body of an async function of `page` (its document) and `frame`, returns.
  ///
  /// `all(selector)` gives elements of the page, and `resize(width, height)` waits for the new layout.
  func open<Answer: Decodable>(_ html: String, _ script: String) async throws -> Answer {
    let answers: [Answer] = try await open(each: [html], script)
    return answers[0]
  }

  /// Opens pages after one another in one browser, which takes most of the time.
  func open<Answer: Decodable>(each pages: [String], _ script: String) async throws -> [Answer] {
    let executable = try Self.executable()
    let folder = TemporaryDirectory()
    for (index, page) in pages.enumerated() { folder.write(page, to: "\(index).html") }
    let harness = folder.write(harness(script, pages: pages.count), to: "harness.html")
    let options = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--disable-background-networking",
      "--allow-file-access-from-files", "--user-data-dir=\(folder.file("profile"))", "--virtual-time-budget=60000", "--dump-dom",
    ]
    // If the virtual time ends before the frame is loaded, another attempt opens the page again.
    var (json, said) = (String?.none, "")
    for _ in 0..<5 where json == nil {
      let result = try await Command(executable, options + ["file://\(harness)"]).wait(timeout: .seconds(300))
      said = "\(result.ending): \(result.errorText.suffix(2000))"
      guard result.status == 0 else { break }
      json = result.outputText.firstMatch(of: /<pre>([^<]+)<\/pre>/).flatMap { String($0.1).removingPercentEncoding }
    }
    guard let json else { throw Failed(description: "Chromium gave no answer (\(said))") }
    do {
      return try JSONDecoder().decode([Answer].self, from: Data(json.utf8))
    } catch { throw Failed(description: "not the answer that was asked for: \(json.prefix(2000)): \(error)") }
  }

  private func harness(_ script: String, pages: Int) -> String {
    """
    <!DOCTYPE html><meta charset="utf-8"><title>harness</title><pre></pre>
    <script>
    // Without timers, the virtual time passes at once, and may end before a busy machine has loaded the frame.
    const ticking = setInterval(() => {}, 1);
    addEventListener("load", async () => {
      const answers = [];
      for (let number = 0; number < \(pages); number += 1) {
        const frame = document.createElement("iframe");
        if (!\(runsScripts)) frame.sandbox = "allow-same-origin";
        frame.style = "border: 0; width: \(width)px; height: \(height)px";
        frame.src = number + ".html";
        document.body.append(frame);
        await new Promise(done => { frame.onload = done; });
        const page = frame.contentDocument;
        const all = selector => [...page.querySelectorAll(selector)];
        const resize = (width, height) => new Promise(done => {
          frame.style.width = width + "px";
          frame.style.height = height + "px";
          setTimeout(done, 100);
        });
        try {
          answers.push(await (async () => { \(script) })());
        } catch (error) {
          answers.push({error: String(error.stack)});
        }
        frame.remove();
        delete window.injected;
      }
      document.querySelector("pre").textContent = encodeURIComponent(JSON.stringify(answers));
      clearInterval(ticking);
    });
    </script>
    """
  }

  private static func executable() throws -> String {
    for path in ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    where FileManager.default.isExecutableFile(atPath: path) { return path }
    throw Failed(description: "the tests of the HTML report need Chromium: scripts/install-dependencies test")
  }

  /// Chromium is not there, or gave no answer.
  struct Failed: Error, CustomStringConvertible {
    var description: String
  }
}
