"""The compiled core: from coded columns to grown trees and predictions. It knows no estimators."""
