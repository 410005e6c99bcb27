import ArgumentParser
import Glibc
import ImagePrimitives
import Reports

/// `prewarm init`: writes a job file to begin with.
struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Write a commented job file to begin with.",
    discussion: """
      The job reads urls.txt beside it; keys behind a '#' show what else there is. A file that exists is never overwritten.

      Example:

        prewarm init images.yaml
      """
  )

  @Argument(help: "The file to write.", completion: .file(extensions: ["yaml", "yml"]))
  var file = "prewarm.yaml"

  func run() throws {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      if errno == EEXIST {
        throw CommandError(.misused, "\(named(file)) exists; name another file, as in 'prewarm init images.yaml'")
      }
      throw CommandError(.couldNotFinish, "cannot write \(named(file)): \(errorSentence())")
    }
    defer { close(descriptor) }
    guard writeAll(Array(Self.job.utf8), to: descriptor) else {
      throw CommandError(.couldNotFinish, "cannot write \(named(file)): \(errorSentence())")
    }
    Note.plain("\(named(file)) written; list your URLs in urls.txt beside it, then 'prewarm run \(named(file))'")
  }

  /// Each key behind a `#` is valid where it stands.
  private static let job = """
    # A job of prewarm. 'prewarm validate --list-keys' lists all keys; 'man prewarm-job' explains them.
    #
    #   prewarm check FILE          check the images, keep nothing
    #   prewarm run FILE --dry-run  print what a run would fetch
    #   prewarm run FILE            fetch the images into the cache
    version: 1
    name: images                  # what reports call the job

    # Lists of image URLs: text, CSV, TSV, JSON Lines, sitemaps or access logs; paths start at this file's folder.
    manifests:
      - path: urls.txt            # a URL on each line
        # base-url: https://www.example.com # for relative URLs
        # include: ["/hero/**"]
        # exclude: ["*.svg"]
      # - url: https://www.example.com/sitemap.xml

    # How fast.
    prefetch:
      concurrency: 32             # transfers at once
      per-host: 8                 # transfers at once to one host
      # rate: 100/s               # requests to all hosts together
      # deadline: 30m             # for the whole job

    # request:
    #   headers: {X-Token: "${TOKEN}"} # from the environment; sent to the entry's own host only
    #   timeout: 60s
    #   retries: 2

    # Where images are kept: by default in ~/.cache/prewarm, or in $PREWARM_CACHE_DIR.
    cache:
      max-age: 7d                 # how old an image is still a hit
      # max-size: 2GiB            # older images are removed beyond it
      # directory: cache

    # What makes an image good.
    verify:
      decode: header              # full decodes every pixel
      # formats: [jpeg, png, webp, avif]
      # width: {min: 16}

    report:
      - text: "-"                 # to standard output
      # - json: reports/images.json
      # - html: reports/images.html

    # What makes the exit status 2.
    fail-on:
      failures: 0                 # or a percentage, such as 1%
      empty: true                 # no URL at all

    """
}
