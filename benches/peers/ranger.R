# One probability forest by ranger, for dense.py.
#
# Arguments: a directory; the numbers of training rows, test rows, features, trees, features per
# node and threads; the seed.
# Reads X_train and X_test (float32, by columns) and y_train (int32, from 0) from the directory and
# writes shares there: a float64 matrix by columns, a row per test row, a column per class. Prints
# the seconds of the fit alone.

suppressPackageStartupMessages(library(ranger))

arguments <- commandArgs(trailingOnly = TRUE)
directory <- arguments[1]
number <- as.integer(arguments[-1])
n_train <- number[1]
n_test <- number[2]
n_features <- number[3]

read_matrix <- function(name, n_rows) {
  cells <- readBin(file.path(directory, name), "numeric", n_rows * n_features, size = 4)
  matrix(cells, n_rows, n_features, dimnames = list(NULL, paste0("x", seq_len(n_features))))
}

X <- read_matrix("X_train", n_train)
y <- factor(readBin(file.path(directory, "y_train"), "integer", n_train, size = 4))
elapsed <- system.time(
  forest <- ranger(
    x = X, y = y, probability = TRUE, num.trees = number[4], mtry = number[5],
    min.node.size = 1, replace = TRUE, oob.error = FALSE, num.threads = number[6],
    seed = number[7], verbose = FALSE
  )
)["elapsed"]

shares <- predict(forest, read_matrix("X_test", n_test), num.threads = number[6])$predictions
writeBin(as.vector(shares[, levels(y)]), file.path(directory, "shares"))
cat(elapsed, "\n")
