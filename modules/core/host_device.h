// The one macro that lets scalar maths compile for the host and, under nvcc, for the device.
#pragma once

#ifdef __CUDACC__
#define GAZE_HOST_DEVICE __host__ __device__
#else
#define GAZE_HOST_DEVICE
#endif
