// Built with AddressSanitizer: reads and writes under both, on a heap that is checked.
// Must end with 0.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char path[4096];
  snprintf(path, sizeof(path), "%s/checked.bin", argv[1]);
  char* data = malloc(400000);
  for (int i = 0; i < 400000; ++i) data[i] = (char)i;
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || write(fd, data, 400000) != 400000 || pread(fd, data, 1000, 10) != 1000) return 1;
  FILE* file = fopen(path, "r");
  if (file == NULL || fread(data, 1, 200000, file) != 200000) return 1;
  fclose(file);
  close(fd);
  free(data);
  return 0;
}
