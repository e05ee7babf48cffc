/*
 * pointer.c - compile JSON Pointers into one tree, see pointer.h.
 *
 * A pointer is a list of names, each behind a "/"; in a name "~1" stands for "/" and "~0" for "~". Names that several
 * pointers share at their beginning become one node, so the reader compares a member's name once.
 */
#include "select/pointer.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An array index is "0" or digits without a leading zero (RFC 6901, section 4). */
static uint64_t name_index(const unsigned char *name, size_t len)
{
    if (len == 0 || len > 18 || (len > 1 && name[0] == '0'))
        return HX_POINTER_NO_INDEX;
    uint64_t index = 0;
    for (size_t i = 0; i < len; i++) {
        if (name[i] < '0' || name[i] > '9')
            return HX_POINTER_NO_INDEX;
        index = index * 10 + (uint64_t)(name[i] - '0');
    }
    return index;
}

/* The bytes that the reader compares first; laid out as they stand in memory, so byte order does not matter. */
static void set_prefix(hx_pointer_node *node)
{
    unsigned char bytes[8] = {0}, mask[8] = {0};
    for (size_t i = 0; i < 8 && i <= node->name_len; i++) {
        bytes[i] = i == node->name_len ? '"' : node->name[i];
        mask[i] = 0xff;
    }
    memcpy(&node->prefix, bytes, 8);
    memcpy(&node->prefix_mask, mask, 8);
}

/* Takes over `name` when it returns 0. */
static int append_node(hx_pointer_tree *tree, uint32_t parent, unsigned char *name, size_t len, uint32_t *ret)
{
    if (tree->count >= HX_POINTER_NODES_MAX)
        return -E2BIG;
    hx_pointer_node *nodes = reallocarray(tree->nodes, (size_t)tree->count + 1, sizeof *nodes);
    if (nodes == NULL)
        return -ENOMEM;
    tree->nodes = nodes;
    uint32_t at = tree->count++;
    nodes[at] = (hx_pointer_node){.name = name, .name_len = len, .parent = parent};
    nodes[at].index = name_index(name, len);
    set_prefix(&nodes[at]);
    if (at != 0) {
        nodes[at].next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = at;
        nodes[parent].has_index |= nodes[at].index != HX_POINTER_NO_INDEX;
    }
    *ret = at;
    return 0;
}

static int enter_child(hx_pointer_tree *tree, uint32_t parent, unsigned char *name, size_t len, uint32_t *ret)
{
    for (uint32_t at = tree->nodes[parent].first_child; at != 0; at = tree->nodes[at].next_sibling) {
        if (tree->nodes[at].name_len == len && memcmp(tree->nodes[at].name, name, len) == 0) {
            free(name);
            *ret = at;
            return 0;
        }
    }
    return append_node(tree, parent, name, len, ret);
}

/* The name that begins at text[at], up to the next "/" or the end. */
static int read_name(const char *text, size_t at, unsigned char **ret, size_t *ret_len, size_t *ret_next,
                     size_t *ret_offset, const char **ret_reason)
{
    size_t end = at + strcspn(text + at, "/");
    unsigned char *name = malloc(end - at + 1);
    if (name == NULL)
        return -ENOMEM;
    size_t len = 0;
    for (; at < end; at++) {
        char c = text[at];
        if (c == '~') {
            char code = text[at + 1];
            if (code != '0' && code != '1') {
                free(name);
                *ret_offset = at;
                *ret_reason = "\"~\" must be followed by 0 (for \"~\") or 1 (for \"/\")";
                return -EINVAL;
            }
            c = code == '0' ? '~' : '/';
            at++;
        }
        name[len++] = (unsigned char)c;
    }
    *ret = name;
    *ret_len = len;
    *ret_next = end;
    return 0;
}

static int add_roots(hx_pointer_tree *tree)
{
    for (uint32_t at = tree->count; at <= HX_POINTER_DOCUMENT; at++) {
        uint32_t node;
        unsigned char *name = calloc(1, 1);
        if (name == NULL)
            return -ENOMEM;
        int rc = append_node(tree, 0, name, 0, &node);
        if (rc < 0) {
            free(name);
            return rc;
        }
    }
    /* what holds the document is read like an array with this one element */
    tree->nodes[HX_POINTER_DOCUMENT].index = 0;
    tree->nodes[0].has_index = true;
    return 0;
}

int hx_pointer_add(hx_pointer_tree *tree, const char *text, uint32_t *ret_node, size_t *ret_offset,
                   const char **ret_reason)
{
    size_t text_len = strlen(text);
    if (text_len > 0 && text[0] != '/') {
        *ret_offset = 0;
        *ret_reason = "a JSON Pointer is empty or begins with \"/\"";
        return -EINVAL;
    }
    size_t valid = hx_utf8_prefix(text, text_len);
    if (valid < text_len) {
        *ret_offset = valid;
        *ret_reason = "not UTF-8";
        return -EINVAL;
    }
    int rc = add_roots(tree);
    if (rc < 0)
        return rc;
    uint32_t node = HX_POINTER_DOCUMENT;
    size_t at = 0;
    while (text[at] == '/') {
        unsigned char *name;
        size_t len;
        rc = read_name(text, at + 1, &name, &len, &at, ret_offset, ret_reason);
        if (rc < 0)
            return rc;
        rc = enter_child(tree, node, name, len, &node);
        if (rc < 0) {
            free(name);
            return rc;
        }
    }
    tree->nodes[node].wanted = true;
    *ret_node = node;
    return 0;
}

void hx_pointer_free(hx_pointer_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].name);
    free(tree->nodes);
    *tree = (hx_pointer_tree){0};
}
