/*
 * replay.c - runs a fuzz target over the files of a folder, once each, without libFuzzer.
 *
 * So the inputs that once broke something are tried in every test run and with every compiler. A target that does not
 * like an input crashes or aborts, as under libFuzzer; whoever comes to the last line has passed. Counts as one test
 * an input.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a whole file into memory of exactly its size, so that a read past the end is seen by the sanitizer. */
static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    uint8_t *data = NULL;

    if (file == NULL || fstat(fileno(file), &info) < 0 || !S_ISREG(info.st_mode))
        goto out;
    data = malloc(info.st_size > 0 ? (size_t)info.st_size : 1);
    if (data == NULL)
        goto out;
    *ret_size = fread(data, 1, (size_t)info.st_size, file);
out:
    if (file != NULL)
        fclose(file);
    return data;
}

static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[4096];
    int inputs = 0;

    if (dir == NULL) {
        perror(folder);
        return -1;
    }
    while ((entry = readdir(dir)) != NULL) {
        size_t size = 0;
        uint8_t *data;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
        data = read_file(path, &size);
        if (data == NULL) {
            fprintf(stderr, "%s: cannot be read\n", path);
            closedir(dir);
            return -1;
        }
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        inputs++;
    }
    closedir(dir);
    return inputs;
}

int main(int argc, char **argv)
{
    int inputs;

    if (argc != 2) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    inputs = replay_folder(argv[1]);
    if (inputs < 0)
        return 1;
    printf("%d passed, 0 failed\n", inputs);
    return 0;
}
