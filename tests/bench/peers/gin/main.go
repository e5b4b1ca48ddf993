// Peer: gin with golang-jwt, a cache of verified tokens, and SQLite through database/sql.
package main

import (
	"crypto/rsa"
	"database/sql"
	"errors"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	_ "github.com/mattn/go-sqlite3"
)

type claims struct {
	RealmAccess struct {
		Roles []string `json:"roles"`
	} `json:"realm_access"`
	jwt.RegisteredClaims
}

// protect lets holders of the role through; a token that is known is not verified again until it expires.
func protect(key *rsa.PublicKey, issuer, role string) gin.HandlerFunc {
	known, err := lru.New[string, *claims](10_000)
	must(err)
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256"}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
	)
	keyOf := func(*jwt.Token) (any, error) { return key, nil }

	return func(c *gin.Context) {
		token, isBearer := strings.CutPrefix(c.GetHeader("Authorization"), "Bearer ")
		if !isBearer {
			c.AbortWithStatus(http.StatusUnauthorized)
			return
		}
		caller, isKnown := known.Get(token)
		if !isKnown || !time.Now().Before(caller.ExpiresAt.Time) {
			caller = &claims{}
			if _, err := parser.ParseWithClaims(token, caller, keyOf); err != nil {
				c.AbortWithStatus(http.StatusUnauthorized)
				return
			}
			known.Add(token, caller)
		}
		if !slices.Contains(caller.RealmAccess.Roles, role) {
			c.AbortWithStatus(http.StatusForbidden)
		}
	}
}

type product struct {
	ID    int64   `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

type fields struct {
	Name  string  `json:"name" binding:"required"`
	Price float64 `json:"price" binding:"min=0"`
}

type page struct {
	Start int `form:"start" binding:"min=0"`
	Limit int `form:"limit,default=100" binding:"min=0,max=1000"`
}

const table = `CREATE TABLE IF NOT EXISTS products
	(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, price REAL NOT NULL)`

func open(file string) *sql.DB {
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000")
	must(err)
	return db
}

func prepare(db *sql.DB, query string) *sql.Stmt {
	statement, err := db.Prepare(query)
	must(err)
	return statement
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	file := os.Getenv("DB_FILE")
	// SQLite has one writer at a time: one connection for it, so that none waits for a lock, and a pool for readers.
	writer, readers := open(file), open(file)
	writer.SetMaxOpenConns(1)
	_, err := writer.Exec(table)
	must(err)
	get := prepare(readers, "SELECT id, name, price FROM products WHERE id = ?")
	list := prepare(readers, "SELECT id, name, price FROM products ORDER BY id LIMIT ? OFFSET ?")
	insert := prepare(writer, "INSERT INTO products (name, price) VALUES (?, ?)")

	pem, err := os.ReadFile(os.Getenv("KEY_FILE"))
	must(err)
	key, err := jwt.ParseRSAPublicKeyFromPEM(pem)
	must(err)

	router := gin.New()
	router.Use(gin.Recovery())
	api := router.Group("/api", protect(key, os.Getenv("ISSUER"), "user"))

	api.GET("/products/:id", func(c *gin.Context) {
		var at struct {
			ID int64 `uri:"id" binding:"required,min=1"`
		}
		if err := c.ShouldBindUri(&at); err != nil {
			c.AbortWithStatus(http.StatusNotFound)
			return
		}
		var found product
		err := get.QueryRowContext(c, at.ID).Scan(&found.ID, &found.Name, &found.Price)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			c.AbortWithStatus(http.StatusNotFound)
		case err != nil:
			c.AbortWithStatus(http.StatusInternalServerError)
		default:
			c.JSON(http.StatusOK, gin.H{"response": "OK", "data": found})
		}
	})

	api.GET("/products", func(c *gin.Context) {
		var wanted page
		if err := c.ShouldBindQuery(&wanted); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		rows, err := list.QueryContext(c, wanted.Limit, wanted.Start)
		if err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		defer rows.Close()
		products := make([]product, 0, wanted.Limit)
		for rows.Next() {
			var each product
			if err := rows.Scan(&each.ID, &each.Name, &each.Price); err != nil {
				c.AbortWithStatus(http.StatusInternalServerError)
				return
			}
			products = append(products, each)
		}
		if rows.Err() != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, gin.H{"response": "OK", "data": products})
	})

	api.POST("/products", func(c *gin.Context) {
		var sent fields
		if err := c.ShouldBindJSON(&sent); err != nil {
			c.AbortWithStatus(http.StatusUnprocessableEntity)
			return
		}
		result, err := insert.ExecContext(c, sent.Name, sent.Price)
		if err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		id, err := result.LastInsertId()
		if err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusCreated, gin.H{"response": "OK", "data": product{id, sent.Name, sent.Price}})
	})

	must(router.Run("127.0.0.1:" + os.Getenv("PORT")))
}
