railwave_test(random_phases_test SOURCES random_phases_test.cpp ROOMS comm
              LABELS loopback TIMEOUT 300 PROCESSORS 2)
