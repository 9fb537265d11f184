"""Model inputs: conversion of trees, sentences and pairs, and their batches."""
