/*
 * names.c - what people read instead of a number: verdicts, statuses, the version.
 */
#include <hapax.h>

const char *hapax_verdict_name(hapax_verdict verdict)
{
    switch (verdict) {
    case HAPAX_NEW: return "new";
    case HAPAX_DUPLICATE: return "duplicate";
    case HAPAX_IN_FLIGHT: return "in_flight";
    case HAPAX_UNCHECKED: return "unchecked";
    case HAPAX_CONFLICT: return "conflict";
    case HAPAX_STALE: return "stale";
    }
    return "unknown";
}

const char *hapax_status_name(int status)
{
    switch (status) {
    case HAPAX_OK: return "HAPAX_OK";
    case HAPAX_ERR_INVALID: return "HAPAX_ERR_INVALID";
    case HAPAX_ERR_TOO_LONG: return "HAPAX_ERR_TOO_LONG";
    case HAPAX_ERR_MEMORY: return "HAPAX_ERR_MEMORY";
    case HAPAX_ERR_FULL: return "HAPAX_ERR_FULL";
    case HAPAX_ERR_IO: return "HAPAX_ERR_IO";
    case HAPAX_ERR_POISONED: return "HAPAX_ERR_POISONED";
    case HAPAX_ERR_DAMAGED: return "HAPAX_ERR_DAMAGED";
    case HAPAX_ERR_LOCKED: return "HAPAX_ERR_LOCKED";
    case HAPAX_ERR_VERSION: return "HAPAX_ERR_VERSION";
    case HAPAX_ERR_NOT_FOUND: return "HAPAX_ERR_NOT_FOUND";
    case HAPAX_ERR_SETTINGS: return "HAPAX_ERR_SETTINGS";
    case HAPAX_ERR_TIME_MODE: return "HAPAX_ERR_TIME_MODE";
    case HAPAX_ERR_READ_ONLY: return "HAPAX_ERR_READ_ONLY";
    case HAPAX_ERR_DURABILITY: return "HAPAX_ERR_DURABILITY";
    case HAPAX_ERR_HELD: return "HAPAX_ERR_HELD";
    default: return "an unknown status";
    }
}

const char *hapax_version(void)
{
    return HAPAX_VERSION;
}
