/*
 * pointer.h - JSON Pointers (RFC 6901), several of them as one tree, so that one pass over a record serves all.
 *
 *     /id  /order/id  /order/items/0       node 0  (what holds the document: its only child is the document)
 *                                            1  ""      <- a document; pointer "" ends here
 *                                              2  "id"      wanted
 *                                              3  "order"
 *                                                4  "id"      wanted
 *                                                5  "items"
 *                                                  6  "0"       wanted; in an array it is index 0
 */
#ifndef HX_SELECT_POINTER_H
#define HX_SELECT_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HX_POINTER_NODES_MAX 4096
#define HX_POINTER_DOCUMENT 1u /* the node that stands for the whole document */

typedef struct hx_pointer_node {
    uint64_t prefix, prefix_mask; /* the first bytes of the name and its closing quote, up to 8, as in the text */
    unsigned char *name;          /* with the escapes of the pointer resolved */
    size_t name_len;
    uint64_t index;                             /* as an array index, HX_POINTER_NO_INDEX where the name is none */
    uint32_t parent, first_child, next_sibling; /* 0: none */
    bool wanted;                                /* a pointer ends here */
    bool has_index;                             /* some child can be an array index */
} hx_pointer_node;

#define HX_POINTER_NO_INDEX UINT64_MAX

typedef struct hx_pointer_tree {
    hx_pointer_node *nodes; /* zero-initialise the tree */
    uint32_t count;
} hx_pointer_tree;

/*
 * Add a pointer; *ret_node is where it ends. Returns 0, -ENOMEM, -E2BIG (too many nodes), or -EINVAL: then
 * *ret_offset is the place in the text and *ret_reason says in words what is wrong there.
 */
int hx_pointer_add(hx_pointer_tree *tree, const char *text, uint32_t *ret_node, size_t *ret_offset,
                   const char **ret_reason);
void hx_pointer_free(hx_pointer_tree *tree);

#endif
