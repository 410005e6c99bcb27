import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport

/// A client's connection: reads requests and plays the script of each, one after another.
///
/// It runs on the origin's event loop.
final class OriginConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = ByteBuffer

  private let ledger: OriginLedger
  private let port: Int
  private var number = 0
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  /// Requests that arrived before the response to an earlier one ended.
  private var pending: [Exchange] = []
  private var current: Exchange?

  /// A request, the rest of its script, and the gate at which it waits.
  private struct Exchange {
    let request: RecordedRequest
    let keepAlive: Bool
    var steps: ArraySlice<Behaviour.Step>
    var wait: (gate: Gate, id: Int)?
  }

  init(ledger: OriginLedger, port: Int) {
    self.ledger = ledger
    self.port = port
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    number = ledger.withLock { $0.open(channel) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let wait = current?.wait { wait.gate.leave(wait.id) }
    let unfinished = (current.map { [$0] } ?? []) + pending
    current = nil
    pending = []
    ledger.withLock { state in
      state.connections[number] = nil
      for exchange in unfinished { state.end(exchange.request, isAnswered: false) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body(let buffer): body += buffer.readableBytesView
    case .end:
      guard let head else { return }
      receive(head)
      if current == nil { next(context) }
    }
  }

  /// An invalid request gets no response.
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func receive(_ head: HTTPRequestHead) {
    let (request, behaviour, turn) = ledger.withLock { state in
      let request = RecordedRequest(
        sequence: state.requests.count + 1,
        method: head.method.rawValue,
        target: Self.target(head.uri),
        headers: HeaderFields(head.headers.map { (name: $0.name, value: $0.value) }),
        body: body,
        connection: number,
        port: port,
        arrival: .now
      )
      let (behaviour, turn) = state.receive(request)
      return (request, behaviour, turn)
    }
    self.head = nil
    body = []
    let steps = behaviour.script(for: request, turn: turn)
    pending.append(Exchange(request: request, keepAlive: head.isKeepAlive, steps: steps[...]))
  }

  /// As a proxy, the origin gets whole URLs (RFC 9112, section 3.2.2), and serves their paths, whatever the host.
  private static func target(_ uri: String) -> String {
    guard uri.hasPrefix("http://") else { return uri }
    return String(uri.dropFirst("http://".count).drop { $0 != "/" })
  }

  private func next(_ context: ChannelHandlerContext) {
    guard !pending.isEmpty else { return }
    current = pending.removeFirst()
    play(context)
  }

  /// Plays the current script until it must wait, for a gate or for its bytes to be sent.
  private func play(_ context: ChannelHandlerContext) {
    var bytes = context.channel.allocator.buffer(capacity: 1024)
    while let step = current?.steps.popFirst() {
      switch step {
      case .head(let part): bytes.writeBytes(part)
      case .body(let part): if current?.request.method != "HEAD" { bytes.writeBytes(part) }
      case .stall: return context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
      case .close: return send(bytes, context) { $0.finish($1, closing: true) }
      case .reset:
        return send(bytes, context) { connection, context in
          // Closing with a linger time of zero sends RST.
          (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in }
          connection.finish(context, closing: true)
        }
      case .wait(let gate):
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        return wait(gate, context)
      }
    }
    send(bytes, context) { $0.finish($1, closing: $0.current?.keepAlive == false) }
  }

  private func send(
    _ bytes: ByteBuffer,
    _ context: ChannelHandlerContext,
    then action: @escaping (OriginConnection, ChannelHandlerContext) -> Void
  ) {
    context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenSuccess { action(self, context) }
  }

  private func wait(_ gate: Gate, _ context: ChannelHandlerContext) {
    let loop = context.eventLoop
    let bound = NIOLoopBound((self, context), eventLoop: loop)
    let id = gate.enter {
      loop.execute {
        let (connection, context) = bound.value
        guard connection.current != nil else { return }
        connection.current?.wait = nil
        connection.play(context)
      }
    }
    if let id { current?.wait = (gate, id) }
  }

  /// Ends the response: the connection closes or handles its next request.
  private func finish(_ context: ChannelHandlerContext, closing: Bool) {
    guard let request = current?.request else { return }
    current = nil
    ledger.withLock { $0.end(request, isAnswered: true) }
    if closing { context.close(promise: nil) } else { next(context) }
  }
}
