import Base
import Synchronization

/// A slot that shows one image at a time: binding it to another cancels the previous load, which then delivers nothing more.
///
/// The one-to-one rule of image views, for any consumer:
/// ```swift
/// let slot = ImageSlot(manager: manager)
/// slot.bind("https://img.example.com/a.jpg")
/// for await update in slot.updates { … }
/// ```
public final class ImageSlot: Sendable {
  /// A change of what the slot shows.
  public enum Update: Sendable {
    /// No image from now on.
    case cleared
    /// An image before the final one.
    case preview(ImageResponse)
    /// The image. Not sent if it was already shown as a preview and nothing newer has come.
    case loaded(ImageResponse)
    /// No image, for that reason.
    case failed(ImageLoadError)
  }

  private struct State {
    /// The current binding; updates of earlier ones are ignored.
    var binding: UInt64 = 0
    var task: ImageTask?
    var pending: [Update] = []
    var waiter: CheckedContinuation<Void, Never>?
    /// Whether the binding has shown its cached image before the request.
    var hasPreviewed = false
  }

  private let manager: ImageManager
  private let state = Mutex(State())

  public init(manager: ImageManager) { self.manager = manager }

  deinit { state.withLock { $0.task }?.cancel() }

  /// Shows the image of `request` from now on, and returns its task. Once this returns, ``updates`` deliver nothing of the previous image.
  @discardableResult
  public func bind(_ request: ImageRequest) -> ImageTask {
    let binding = begin(with: nil)
    let task = manager.load(request) { [weak self] event in
      if case .preview(let response) = event { self?.add(.preview(response), of: binding) }
    }
    let isCurrent = state.withLock { state in
      guard state.binding == binding else { return false }
      state.task = task
      return true
    }
    if !isCurrent { task.cancel() }
    task.outcome.whenSet { [weak self] outcome in
      switch outcome {
      case .success(let response): self?.add(.loaded(response), of: binding)
      case .failure(let error): self?.add(.failed(error), of: binding)
      }
    }
    return task
  }

  @discardableResult
  public func bind(_ url: String) -> ImageTask { bind(ImageRequest(url: url)) }

  /// Shows nothing from now on.
  public func clear() { _ = begin(with: .cleared) }

  /// The updates, for one consumer at a time; they are always of the current binding, and end when the calling task is cancelled.
  public var updates: AsyncStream<Update> { AsyncStream { [self] in await next() } }

  /// Starts a binding: undelivered updates of the previous one are dropped, and its load is cancelled.
  private func begin(with update: Update?) -> UInt64 {
    let (binding, task, waiter) = state.withLock { state in
      state.binding += 1
      state.hasPreviewed = false
      state.pending = update.map { [$0] } ?? []
      defer { (state.task, state.waiter) = (nil, update == nil ? state.waiter : nil) }
      return (state.binding, state.task, update == nil ? nil : state.waiter)
    }
    task?.cancel()
    waiter?.resume()
    return binding
  }

  private func add(_ update: Update, of binding: UInt64) {
    let waiter = state.withLock { state in
      guard state.binding == binding else { return nil as CheckedContinuation<Void, Never>? }
      if case .preview = update { state.hasPreviewed = true }
      // An image that is already shown isn't shown again.
      if case .loaded(let response) = update, state.hasPreviewed, response.source != .network { return nil }
      state.pending.append(update)
      defer { state.waiter = nil }
      return state.waiter
    }
    // The consumer is only woken and takes the update under the lock, so that a new binding in between comes first.
    waiter?.resume()
  }

  private func next() async -> Update? {
    while !Task.isCancelled {
      if let update = state.withLock({ $0.pending.isEmpty ? nil : $0.pending.removeFirst() }) { return update }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in wait(continuation) }
      } onCancel: {
        wake()
      }
    }
    return nil
  }

  private func wait(_ continuation: CheckedContinuation<Void, Never>) {
    let isDue = state.withLock { state in
      trap(unless: state.waiter == nil, "a slot's updates must have only one consumer at a time")
      guard state.pending.isEmpty, !Task.isCancelled else { return true }
      state.waiter = continuation
      return false
    }
    if isDue { continuation.resume() }
  }

  private func wake() {
    state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }
}
