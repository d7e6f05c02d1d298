package redisbackend

import (
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// slot is the part of a Redis Cluster that holds a key, as the cluster specification has it: CRC16
// (XMODEM) of what stands between the first braces, modulo 16384.
func slot(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestTenantsAreSpreadOverSlots(t *testing.T) {
	t.Parallel()
	assert.Equal(t, slot("123456789"), 0x31C3, "the slot that the specification has of 123456789")
	slots := map[uint16]bool{}
	for tenantID := range int64(2000) {
		slots[slot(tenantKey(tenantID))] = true
	}
	assert.True(t, len(slots) >= 1700, "2000 tenants are not spread: they fill slots", len(slots))
}

func TestOldVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"5.0.6": true, "6.0.16": true, "6.2.0": false, "6.10.1": false, "7.0.15": false, "10.0.0": false, "": false,
		"unknown": false,
	} {
		assert.Equal(t, older(version), want, version, "is older:")
	}
}
