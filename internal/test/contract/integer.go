package contract

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// checkInteger refuses whole numbers that need more bits. Another rule checks that a number is
// whole.
func checkInteger(v any, bits uint) error {
	text, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n, ok := new(big.Rat).SetString(text.String())
	if !ok || !n.IsInt() {
		return nil
	}
	limit := new(big.Int).Lsh(big.NewInt(1), bits-1)
	if whole := n.Num(); whole.Cmp(limit) >= 0 || whole.Cmp(new(big.Int).Neg(limit)) < 0 {
		return fmt.Errorf("out of range: it has more than %d bits", bits)
	}
	return nil
}
