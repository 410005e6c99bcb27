/// What each shard has read of the entries of all of them: the same, unless a list changed meanwhile, or one has an old copy of it.
///
/// Each shard leaves to the others what is theirs by its own list, so that an entry may be nobody's where lists differ.
struct ShardLists {
  /// How many lists a sentence tells at most.
  private static let toldLimit = 10

  /// Those that have read the same, by their numbers; the most of them first.
  private let groups: [(list: ReportedList, shards: [Int])]

  /// The lists of shards by their number; what did not note its list is passed over.
  init(_ reports: [Int: FinishedReport]) {
    var shards: [ReportedList: [Int]] = [:]
    for (index, report) in reports.sorted(by: { $0.key < $1.key }) {
      if let list = report.job.shard?.list { shards[list, default: []].append(index) }
    }
    groups = shards.map { ($0.key, $0.value) }
      .sorted { ($1.shards.count, $0.shards[0]) < ($0.shards.count, $1.shards[0]) }
  }

  /// One sentence on who has read what; nil where all have read the same.
  var difference: String? {
    guard groups.count > 1 else { return nil }
    let (list, shards) = groups[0]
    let verb = shards.count == 1 ? "has" : "have"
    let first = "\(names(of: shards)) \(verb) read \(grouped(list.entries)) \(list.entries == 1 ? "entry" : "entries")"
    var counts: Set = [list.entries]
    var others = groups.dropFirst().prefix(Self.toldLimit - 1).map { list, shards in
      let isCountNew = counts.insert(list.entries).inserted
      return "\(names(of: shards)) \(grouped(list.entries))\(isCountNew ? "" : list.entries == 1 ? " other one" : " other ones")"
    }
    let more = groups.count - 1 - others.count
    if more > 0 { others.append("the rest \(more) further lists") }
    let last = others.removeLast()
    return "\(([first] + others).joined(separator: ", ")), and \(last): their lists were not the same"
  }

  private func names(of shards: [Int]) -> String {
    shards.count == 1 ? "shard \(shards[0])" : "shards \(numbers(of: shards))"
  }
}

/// Numbers of shards in a sentence, ten of them at most.
func numbers(of shards: [Int]) -> String {
  let told = shards.prefix(10)
  let more = shards.count - told.count
  return told.map { "\($0)" }.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
}
