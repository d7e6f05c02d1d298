package servers

import (
	"database/sql"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	_ "github.com/lib/pq" // the driver "postgres"

	"petstore.example/internal/catalog"
)

// poolSize is that of petstore's own pool.
const poolSize = 16

// prepareInsert returns the statement of the bare server: without row-level security or an explicit transaction, as a superuser.
func prepareInsert(o BareOptions) (*sql.Stmt, error) {
	db, err := openPool(o.Database)
	if err != nil {
		return nil, err
	}
	return db.Prepare(`
		insert into pets (tenant_id, name, category_id, status, created_at)
		values ($1, $2, $3, $4, now()) returning id`)
}

func openPool(url string) (*sql.DB, error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	return db, nil
}

// create is a minimal POST /v1/pets.
func create(c *gin.Context, insert *sql.Stmt, tenant int64) {
	var pet catalog.Pet
	if err := c.ShouldBindJSON(&pet); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	err := insert.QueryRowContext(c.Request.Context(), tenant, pet.Name, pet.CategoryID, pet.Status).Scan(&pet.ID)
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
		return
	}
	c.JSON(http.StatusCreated, &pet)
}
