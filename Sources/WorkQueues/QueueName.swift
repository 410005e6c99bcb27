/// x
struct Placeholder {}
