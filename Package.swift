// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A system library found by pkg-config, with its Debian package.
func system(_ name: String, pkgConfig: String, debian: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func library(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: strict)
}

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
  name: "prewarm",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "prewarm", targets: ["prewarm"]),
    // The library for other programs: the core, without jobs, manifests and reports.
    .library(name: "PrewarmImages", targets: ["PrewarmImages"]),
    // Its events as logs and metrics; empty without the trait Observing.
    .library(name: "PrewarmObserving", targets: ["PrewarmObserving"]),
  ],
  traits: [
    // One trait for all: SwiftPM 6.3 passes several default traits in a random order, and compiles everything again when it changes.
    .trait(
      name: "LoadedFormats",
      description: "Decode AVIF, TIFF, HEIC and JPEG XL, with libraries that are loaded when first needed"
    ),
    .trait(name: "Observing", description: "The module PrewarmObserving: logs with swift-log, metrics with swift-metrics"),
    .trait(name: "FoundationURLs", description: "Loads by Foundation's URL, besides those by strings"),
    .default(enabledTraits: ["LoadedFormats"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // System libraries: each a module map and a shim header.
    system("CCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
    system("CLMDB", pkgConfig: "lmdb", debian: "liblmdb-dev"),
    system("CXXHash", pkgConfig: "libxxhash", debian: "libxxhash-dev"),
    system("CYAML", pkgConfig: "yaml-0.1", debian: "libyaml-dev"),
    system("CJansson", pkgConfig: "jansson", debian: "libjansson-dev"),
    system("CWebP", pkgConfig: "libwebpdemux", debian: "libwebp-dev"),
    system("CZlib", pkgConfig: "zlib", debian: "zlib1g-dev"),
    system("CCrypto", pkgConfig: "libcrypto", debian: "libssl-dev"),
    // Debian's giflib has no pkg-config file; its module map links the library.
    .systemLibrary(name: "CGIF", providers: [.apt(["libgif-dev"])]),
    .systemLibrary(name: "CPlatform"),

    // Calls that start and end in C, since `setjmp` may not cross Swift.
    .target(name: "CJPEG", dependencies: ["CLoading"], linkerSettings: [.linkedLibrary("jpeg")]),
    .target(name: "CPNG", dependencies: ["CLoading"], linkerSettings: [.linkedLibrary("png16"), .linkedLibrary("z")]),
    // Headers of libavif, libtiff, libheif and libjxl (Debian: libavif-dev, libtiff-dev, libheif-dev, libjxl-dev); the libraries
    // are loaded at run time, not linked.
    .target(name: "CLoading"),
    .target(name: "CCodings", dependencies: ["CLoading"], linkerSettings: [.linkedLibrary("z")]),
    .target(name: "CAVIF", dependencies: ["CLoading"]),
    .target(name: "CTIFF", dependencies: ["CLoading"]),
    .target(name: "CHEIF", dependencies: ["CLoading"]),
    .target(name: "CJXL", dependencies: ["CLoading"]),
    // Expat (Debian: libexpat1-dev), with its memory limited in C.
    .target(name: "CExpat", linkerSettings: [.linkedLibrary("expat")]),
    // libseccomp (Debian: libseccomp-dev), and the system calls of Landlock.
    .target(name: "CConfinement", linkerSettings: [.linkedLibrary("seccomp", .when(platforms: [.linux]))]),
    // gumbo (Debian: libgumbo-dev), with its memory and nesting limited in C.
    .target(name: "CGumbo", linkerSettings: [.linkedLibrary("gumbo")]),

    // A module of its own, so that programs over the library don't get the C library by its import.
    library("Platform", ["CPlatform"]),
    library("Base", ["Platform", "CXXHash", "CZlib", "CCrypto", "CCurl", deque]),
    library(
      "ImageCoding",
      [
        "Platform", "Base", "CLoading", "CJPEG", "CPNG", "CWebP", "CGIF", "CExpat", "CZlib",
        .target(name: "CConfinement", condition: .when(platforms: [.linux])),
        .target(name: "CAVIF", condition: .when(traits: ["LoadedFormats"])),
        .target(name: "CTIFF", condition: .when(traits: ["LoadedFormats"])),
        .target(name: "CHEIF", condition: .when(traits: ["LoadedFormats"])),
        .target(name: "CJXL", condition: .when(traits: ["LoadedFormats"])),
      ]
    ),
    library("ImageCaching", ["Platform", "Base", "CLMDB", "CXXHash", "CCrypto"]),
    library("ImageDownloading", ["Platform", "Base", "CCurl", "CCodings", heap]),
    library(
      "ImageManaging",
      ["Platform", "Base", "ImageCoding", "ImageCaching", "ImageDownloading"]
    ),
    // The modules that a program over the library imports.
    library("PrewarmImages", ["Base", "ImageCoding", "ImageCaching", "ImageDownloading", "ImageManaging"]),
    library(
      "PrewarmObserving",
      [
        "ImageManaging", "ImageCaching", "Base",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Observing"])),
        .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Observing"])),
      ]
    ),
    library("Lists", ["Base", "CXXHash", "CZlib", "CExpat", "CGumbo", heap]),
    library(
      "Reports",
      ["Base", "CJansson", "CXXHash"],
      resources: [.embedInCode("HTML/page.css"), .embedInCode("HTML/page.js")]
    ),
    library("Notices", ["Platform", "Base", "CCurl", "ImageDownloading", "Reports"]),
    library(
      "Jobs",
      [
        "CYAML", "Lists", "ImageManaging", "ImageCoding", "ImageCaching", "ImageDownloading",
        "Base", "Reports", "Notices",
      ]
    ),
    .executableTarget(
      name: "prewarm",
      dependencies: [
        "Jobs", "Reports", "Lists", "ImageManaging", "ImageDownloading", "ImageCoding", "ImageCaching",
        "Base", "Platform", "CConfinement", arguments,
      ],
      swiftSettings: strict
    ),

    // Shared by tests: folders, clocks, fixtures, processes; and servers that misbehave on purpose.
    .target(
      name: "TestSupport",
      dependencies: ["Base", "ImageCoding"],
      path: "Tests/TestSupport",
      swiftSettings: strict
    ),
    .target(
      name: "TestOrigin",
      dependencies: [
        "TestSupport", "CTestTLS",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      path: "Tests/TestOrigin",
      swiftSettings: strict
    ),
    // TLS for hand-written servers.
    .target(name: "CTestTLS", path: "Tests/CTestTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // A replacement for libc's resolver, for names that tests define.
    .target(name: "CTestResolver", path: "Tests/CTestResolver"),
    // Inner parts for scripts/bench-counts, which counts their instructions.
    .target(name: "CCounting", path: "Tests/CCounting"),
    .executableTarget(
      name: "prewarm-benchmarks",
      dependencies: [
        "Jobs", "Lists", "ImageManaging", "ImageCoding", "ImageCaching", "ImageDownloading",
        "Base",
        "Reports", "CCounting",
      ],
      path: "Tests/Benchmarks",
      exclude: ["counts-x86_64.txt"],
      swiftSettings: strict
    ),
    // What must hold for any bytes: tests replay fixtures, scripts/fuzz searches with libFuzzer.
    .target(
      name: "Fuzzing",
      dependencies: ["Base", "ImageCoding", "ImageDownloading", "Lists", "Reports", "Jobs"],
      path: "Tests/Fuzzing",
      swiftSettings: strict
    ),
    tests("FuzzingTests", ["Fuzzing", "Base"]),
    .testTarget(name: "TestOriginTests", dependencies: ["TestOrigin", "TestSupport"], swiftSettings: strict),
    tests("BaseTests", ["Base"]),
    tests("ImageCodingTests", ["ImageCoding", "CZlib"]),
    tests("AgreementTests", ["ImageCoding", "Base"]),
    tests("ImageCachingTests", ["ImageCaching"]),
    tests("ImageDownloadingTests", ["ImageDownloading", "Base", "TestOrigin", "CTestResolver"]),
    tests(
      "ImageManagingTests",
      [
        "ImageManaging", "Base", "ImageCaching", "ImageDownloading", "ImageCoding",
        "TestOrigin",
      ]
    ),
    // The code blocks of the guide, which must compile and run.
    tests(
      "GuideTests",
      ["PrewarmImages", "TestOrigin"]
    ),
    tests("ListsTests", ["Lists", "Base"]),
    tests("ReportsTests", ["Reports", "Base"]),
    tests("NoticesTests", ["Notices", "Base", "ImageDownloading", "Reports", "TestOrigin"]),
    tests(
      "JobsTests",
      [
        "Jobs", "Lists", "Base", "ImageDownloading", "ImageManaging",
        "ImageCaching", "ImageCoding", "Reports",
        "TestOrigin",
      ]
    ),
    tests("CommandTests", ["ImageCaching", "ImageCoding", "Base", "prewarm", "TestOrigin"]),
  ],
  swiftLanguageModes: [.v6]
)

// The program of scripts/fuzz; libFuzzer supplies its `main`, so other builds would lack one.
if Context.environment["PREWARM_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: ["Fuzzing"],
      path: "Tests/FuzzDriver",
      swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
    )
  )
}
