// Runs benchmarks of the inner parts: prewarm-benchmarks FOLDER FIXTURES [NAME…], or without arguments tells their names.
//
// FOLDER is empty, and theirs alone; FIXTURES is Tests/Fixtures. Under callgrind each leaves a file of what it counted, in the folder that
// this runs in; `scripts/bench-counts` makes a table of these. A line of the output is a benchmark's name, and its operations.
import Glibc

let benchmarks =
  QueueBenchmarks.all + CacheBenchmarks.all + ManifestBenchmarks.all + JobBenchmarks.all + ReportBenchmarks.all
  + ImageBenchmarks.all

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 2 else {
  for benchmark in benchmarks { print(benchmark.name) }
  exit(0)
}
let place = Workplace(folder: arguments[1], fixtures: arguments[2])
let wanted = Set(arguments.dropFirst(2))
for benchmark in benchmarks where wanted.isEmpty || wanted.contains(benchmark.name) {
  do {
    try benchmark.run(in: place)
    print(benchmark.name, benchmark.operations)
  } catch {
    let sentence = Array("prewarm-benchmarks: \(benchmark.name): \(error)\n".utf8)
    write(STDERR_FILENO, sentence, sentence.count)
    exit(1)
  }
}
