// Package redisbackend counts in Redis, for package limits/distributed: by the scripts in scripts/,
// through a client that reaches one known Redis only. Apart from cmd/petstore it is the only
// package that imports go-redis.
//
// scripts/take.lua describes the keys and their layout.
package redisbackend
