// Exists to have the test libraries' headers compiled once: cmake/room.cmake, railwave_test.
int main() { return 0; }
