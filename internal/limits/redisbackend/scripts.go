package redisbackend

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var sources embed.FS

var (
	takeScript       = script("take")
	initTenantScript = script("inittenant")
	initKeyScript    = script("initkey")
	refundScript     = script("refund")
	beginWriteScript = script("beginwrite")
	pingScript       = script("ping")
)

func script(name string) *redis.Script {
	source, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // The script is not embedded.
	}
	return redis.NewScript(string(source))
}
