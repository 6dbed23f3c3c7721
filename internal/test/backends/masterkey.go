package backends

// MasterKey is the auth.master_key of daemons in tests and benchmarks: 32 bytes in hex.
const MasterKey = "5fd1c1b0f8d54a0f6f2f4f0a8f3e1c9be8d70a64d2b35c1e97a860f14bd2c357"
