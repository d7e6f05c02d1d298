// Package redisbackend counts in Redis, for package limits/distributed. It uses the scripts in
// scripts/ and a client that reaches one known Redis only. Apart from internal/server, it is the
// only package that imports go-redis.
//
// scripts/take.lua describes the keys and their layout.
package redisbackend
