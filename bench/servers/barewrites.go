package servers

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	_ "github.com/lib/pq" // the driver "postgres"

	"petstore.example/internal/catalog"
)

// poolSize is that of petstore's own pool.
const poolSize = 16

func openPool(url string) (*sql.DB, error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	return db, nil
}

// bareWriter is the bare server's statements, one prepared statement for each request: without row-level security or an explicit transaction, as a superuser.
type bareWriter struct {
	tenant                             int64
	insert, update, place, ofTheDigest *sql.Stmt
}

func newWriter(o BareOptions) (*bareWriter, error) {
	db, err := openPool(o.Database)
	if err != nil {
		return nil, err
	}
	w := &bareWriter{tenant: o.Tenant}
	for statement, text := range map[**sql.Stmt]string{
		&w.insert: `
			insert into pets (tenant_id, name, category_id, status, created_at)
			values ($1, $2, $3, $4, now()) returning id`,
		&w.update: `
			update pets set name = $3 where tenant_id = $1 and id = $2
			returning id, category_id, status`,
		&w.place: `
			with held as (
			  update pets set status = 'pending' where tenant_id = $1 and id = $2 and status = 'available' returning id
			)
			insert into orders (tenant_id, pet_id, quantity, status, created_at)
			select $1, id, $3, 'placed', now() from held
			returning id, status, created_at`,
		&w.ofTheDigest: `select tenant_id from api_keys where digest = $1 and revoked_at is null`,
	} {
		if *statement, err = db.Prepare(text); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// create is a minimal POST /v1/pets.
func (w *bareWriter) create(c *gin.Context) {
	var pet catalog.Pet
	if err := c.ShouldBindJSON(&pet); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	err := w.insert.QueryRowContext(c.Request.Context(), w.tenant, pet.Name, pet.CategoryID, pet.Status).Scan(&pet.ID)
	respond(c, http.StatusCreated, &pet, err)
}

// change is a minimal PATCH /v1/pets/{petId}.
func (w *bareWriter) change(c *gin.Context) {
	var pet catalog.Pet
	if err := c.ShouldBindJSON(&pet); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	err := w.update.QueryRowContext(c.Request.Context(), w.tenant, c.Param("id"), pet.Name).Scan(&pet.ID, &pet.CategoryID, &pet.Status)
	respond(c, http.StatusOK, &pet, err)
}

// order is a minimal POST /v1/store/orders.
func (w *bareWriter) order(c *gin.Context) {
	order := catalog.Order{Quantity: catalog.DefaultQuantity}
	if err := c.ShouldBindJSON(&order); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	err := w.place.QueryRowContext(c.Request.Context(), w.tenant, order.PetID, order.Quantity).Scan(&order.ID, &order.Status, &order.CreatedAt)
	order.CreatedAt = order.CreatedAt.UTC()
	respond(c, http.StatusCreated, &order, err)
}

// find writes a fixed response after it has found whose the key is.
func (w *bareWriter) find(c *gin.Context, f Fixed) {
	digest := sha256.Sum256([]byte(strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")))
	var tenant int64
	if err := w.ofTheDigest.QueryRowContext(c.Request.Context(), digest[:]).Scan(&tenant); err != nil {
		c.String(http.StatusUnauthorized, err.Error())
		return
	}
	f.write(c)
}

func respond(c *gin.Context, status int, body any, err error) {
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
		return
	}
	c.JSON(status, body)
}
