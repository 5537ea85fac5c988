// The CUDA C++ twin of examples/matmul: same tiles, same order of the sums, same vectors.
constexpr int TILE = 128, DEPTH = 8, QUARTER = 4, HALF = TILE / 2;

extern "C" __global__ void matmul(const float *__restrict__ a, const float *__restrict__ b,
                                  float *__restrict__ c, unsigned n) {
    __shared__ __align__(16) float a_tile[TILE * DEPTH];
    __shared__ __align__(16) float b_tile[TILE * DEPTH];
    const size_t width = n;
    const int thread = threadIdx.x;
    const size_t tile_row = size_t(blockIdx.y) * TILE, tile_column = size_t(blockIdx.x) * TILE;
    const int a_row = thread / 2, a_k = thread % 2 * QUARTER;
    const int b_k = thread / 32, b_column = thread % 32 * QUARTER;
    const int row = thread / 16 * QUARTER, column = thread % 16 * QUARTER;
    float sums[8][8] = {};
    const float *a_next = a + (tile_row + a_row) * width + a_k;
    const float *b_next = b + b_k * width + tile_column + b_column;
    for (unsigned step = 0; step < n / DEPTH; ++step) {
        const float4 from_a = *reinterpret_cast<const float4 *>(a_next);
        const float4 from_b = *reinterpret_cast<const float4 *>(b_next);
        a_next += DEPTH;
        b_next += DEPTH * width;
        a_tile[(a_k + 0) * TILE + a_row] = from_a.x;
        a_tile[(a_k + 1) * TILE + a_row] = from_a.y;
        a_tile[(a_k + 2) * TILE + a_row] = from_a.z;
        a_tile[(a_k + 3) * TILE + a_row] = from_a.w;
        *reinterpret_cast<float4 *>(&b_tile[b_k * TILE + b_column]) = from_b;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float rows[8], columns[8];
            *reinterpret_cast<float4 *>(rows) = *reinterpret_cast<float4 *>(&a_tile[k * TILE + row]);
            *reinterpret_cast<float4 *>(rows + 4) =
                *reinterpret_cast<float4 *>(&a_tile[k * TILE + HALF + row]);
            *reinterpret_cast<float4 *>(columns) =
                *reinterpret_cast<float4 *>(&b_tile[k * TILE + column]);
            *reinterpret_cast<float4 *>(columns + 4) =
                *reinterpret_cast<float4 *>(&b_tile[k * TILE + HALF + column]);
#pragma unroll
            for (int j = 0; j < 8; ++j)
#pragma unroll
                for (int i = 0; i < 8; ++i) sums[i][j] = fmaf(rows[i], columns[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const size_t c_row = tile_row + row + i % QUARTER + i / QUARTER * HALF;
        float *line = c + c_row * width + tile_column + column;
        *reinterpret_cast<float4 *>(line) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
        *reinterpret_cast<float4 *>(line + HALF) =
            make_float4(sums[i][4], sums[i][5], sums[i][6], sums[i][7]);
    }
}
