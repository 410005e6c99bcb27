import ArgumentParser
import Glibc
import Base
import Reports

/// `prewarm init`: writes a starter job file.
struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Write a starter job file",
    discussion: """
      The job reads urls.txt in the same folder. An existing file is never overwritten.

      EXAMPLES:
        prewarm init
        prewarm init homepage.yaml
      """
  )

  @Argument(help: "Write the job to this file", completion: .file(extensions: ["yaml", "yml"]))
  var file = "prewarm.yaml"

  func run() throws {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      if errno == EEXIST {
        throw CommandError(.misused, "\(named(file)) already exists; choose another name, such as 'prewarm init images.yaml'")
      }
      throw CommandError(.couldNotFinish, "cannot write \(named(file)): \(errorSentence())")
    }
    defer { close(descriptor) }
    guard writeAll(Array(Self.job.utf8), to: descriptor) else {
      throw CommandError(.couldNotFinish, "cannot write \(named(file)): \(errorSentence())")
    }
    Note.plain("wrote \(named(file)); next, edit its list of URLs, urls.txt beside it, and run 'prewarm run \(named(file))'")
  }

  private static let job = """
    # prewarm check FILE   checks the images without storing them
    # prewarm run FILE     fetches the images into the cache
    # All keys: prewarm validate --list-keys, or man prewarm-job
    version: 1
    name: images                  # the name of the job in reports

    manifests:                    # lists of image URLs
      - path: urls.txt            # one URL per line; a sitemap: - url: https://www.example.com/sitemap.xml

    prefetch:
      per-host: 8                 # concurrent transfers per host

    cache:
      max-age: 7d                 # fetch images again after this time

    fail-on:
      failures: 0                 # exit with 2 if more URLs are bad; or a percentage, such as 1%

    """
}
